import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { describe, expect, it } from 'vitest'
import { build } from './synth.ts'

describe('the bundles of the functions', () => {
  const { app } = build((stack) => ({ lifecycleEvents: true, auth: { token: new Secret(stack, 'Token') } }), {})
  const { directory } = app.synth()
  const bundles = readdirSync(directory)
    .map((name) => join(directory, name, 'index.mjs'))
    .filter((file) => statSync(file, { throwIfNoEntry: false }))

  it('are at most 600 KB each', () => {
    expect(bundles).toHaveLength(7)
    for (const file of bundles) expect(statSync(file).size).toBeLessThanOrEqual(600_000)
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
