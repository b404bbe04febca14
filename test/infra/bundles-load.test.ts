import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { build } from './synth.ts'

/** What the bundles hold, and what they do, is in bundles.long.test.ts. */
it('the functions of a stack as it comes are bundled, and load', () => {
  const { directory } = build(undefined, {}).app.synth()
  const bundles = readdirSync(directory)
    .map((name) => join(directory, name, 'index.mjs'))
    .filter((file) => statSync(file, { throwIfNoEntry: false }))
  expect(bundles.length).toBeGreaterThan(2)
  const names = ['TABLE', 'BUCKET', 'QUEUE_URL', 'QUEUE_ARN', 'SCHEDULER_GROUP', 'SCHEDULER_ROLE_ARN']
  const env = { ...Object.fromEntries(names.map((name) => [`OVERWINTER_${name}`, 'x'])), AWS_REGION: 'eu-north-1' }
  const script = 'for (const file of process.argv.slice(1)) console.log(typeof (await import(file)).handler)'
  const said = execFileSync(process.execPath, ['--input-type=module', '--eval', script, ...bundles], {
    env,
    stdio: 'pipe',
    encoding: 'utf8',
  })
  expect(said).toBe('function\n'.repeat(bundles.length))
})
