import { Validations } from 'aws-cdk-lib'
import { Key } from 'aws-cdk-lib/aws-kms'
import { AwsSolutionsChecks } from 'cdk-nag'
import { describe, expect, it } from 'vitest'
import { build, type Props } from './synth.ts'

describe("cdk-nag's AwsSolutions rules", () => {
  it.each<[string, Props]>([
    ['as it comes', () => ({})],
    ['without links for callbacks', () => ({ callbacks: false })],
    ['with everything switched on', (stack) => ({ lifecycleEvents: true, invokes: ['mailer'], kmsKey: new Key(stack, 'Key', { enableKeyRotation: true }) })],
  ])('find nothing that is not acknowledged: %s', (_, props) => {
    const { app } = build(props)
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
    expect(() => app.synth()).not.toThrow()
  })
})
