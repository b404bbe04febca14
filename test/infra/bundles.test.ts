import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Template } from 'aws-cdk-lib/assertions'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { describe, expect, it } from 'vitest'
import { build } from './synth.ts'

describe('the bundles of the functions', () => {
  const { app, stack } = build((inner) => ({ lifecycleEvents: true, taskTypes: ['llm'], auth: { token: new Secret(inner, 'Token') } }), {})
  const { directory } = app.synth()
  const bundles = readdirSync(directory)
    .map((name) => join(directory, name, 'index.mjs'))
    .filter((file) => statSync(file, { throwIfNoEntry: false }))

  const bundleOf = (description: string) => {
    const found = Object.values(Template.fromStack(stack).findResources('AWS::Lambda::Function', { Properties: { Description: description } }))
    return join(directory, `asset.${(found[0]!.Properties.Code.S3Key as string).replace('.zip', '')}`, 'index.mjs')
  }

  it('are small: the runner, which starts most often, at most 625 KB, and none over 725 KB', () => {
    expect(bundles).toHaveLength(8)
    expect(statSync(bundleOf('Takes due runs as far as they go')).size).toBeLessThanOrEqual(625_000)
    // The API checks definitions, for which it has a validator and the parser of their expressions.
    for (const file of bundles) expect(statSync(file).size).toBeLessThanOrEqual(725_000)
  })

  it('load as ES modules without a word', () => {
    const names = ['TABLE', 'BUCKET', 'QUEUE_URL', 'QUEUE_ARN', 'SCHEDULER_GROUP', 'SCHEDULER_ROLE_ARN', 'EVENT_BUS', 'TOKEN_SECRET']
    const env = { ...Object.fromEntries(names.map((name) => [`OVERWINTER_${name}`, 'x'])), AWS_REGION: 'eu-north-1', POWERTOOLS_METRICS_NAMESPACE: 'x' }
    const script = `const { handler } = await import(process.argv[1]); process.stdout.write(typeof handler)`
    for (const file of bundles) {
      const said = execFileSync(process.execPath, ['--input-type=module', '--eval', `${script}`, file], { env, stdio: 'pipe' })
      expect(said.toString()).toBe('function')
    }
  })
})
