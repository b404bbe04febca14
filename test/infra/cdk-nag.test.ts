import { Validations } from 'aws-cdk-lib'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
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

  it('find nothing either in tokens that were made for grants', () => {
    const { app, stack, overwinter } = build((inner) => ({ auth: { token: new Secret(inner, 'Token') } }))
    // The secret that is given, and not made here, is its owner's affair.
    Validations.of(stack.node.findChild('Token')).acknowledge({ id: 'AwsSolutions-SMG4', reason: 'a test' })
    overwinter.grantStart(overwinter.functions.Sweeper)
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
    expect(() => app.synth()).not.toThrow()
  })
})
