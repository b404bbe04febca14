import { Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks } from 'cdk-nag'
import { describe, expect, it } from 'vitest'
import { OPTION_SETS } from './option-sets.ts'
import { build } from './synth.ts'

describe("cdk-nag's AwsSolutions rules", () => {
  it.each(Object.entries(OPTION_SETS))('find nothing that is not acknowledged: %s', (_, props) => {
    const { app } = build(props)
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
    expect(() => app.synth()).not.toThrow()
  })
})
