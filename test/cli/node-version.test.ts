import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { templates } from '../../cli/init/templates.ts'
import { OLDEST_NODE, tooOld } from '../../sdk/base/node-version.ts'
import { overwinter, Running, root } from './fixture.ts'

const manifest = (path: string) =>
  JSON.parse(readFileSync(join(root, path), 'utf8')) as {
    engines: { node: string }
    version: string
    dependencies: Record<string, string>
  }

test.each(['22.18.0', '22.19.1', '24.0.0', '100.1.0'])('Node %s will do', (version) => {
  expect(tooOld(version)).toBeUndefined()
})

test.each(['22.17.9', '20.19.0', '4.0.0'])('Node %s is told what is needed', (version) => {
  expect(tooOld(version)).toContain(`needs Node ${OLDEST_NODE} or newer, and this is ${version}`)
})

test('the packages ask for the same Node, and the one for npm create for this version of the other', () => {
  expect(manifest('package.json').engines.node).toBe(`>=${OLDEST_NODE}`)
  expect(manifest('create/package.json').engines.node).toBe(`>=${OLDEST_NODE}`)
  expect(manifest('create/package.json')).toMatchObject({
    version: manifest('package.json').version,
    dependencies: { overwinter: manifest('package.json').version },
  })
})

test('too old a Node gets one sentence and exit code 1, before anything is loaded that it cannot read', async () => {
  const pretend = `data:text/javascript,${encodeURIComponent(`Object.defineProperty(process.versions, 'node', { value: '20.11.1' })`)}`
  const args = ['--conditions=overwinter-source', '--import', pretend, join(root, 'cli/main.ts'), 'runs']
  await using old = new Running(process.execPath, args, { cwd: root })
  expect(await old.exited).toBe(1)
  expect(old.stderr).toBe(`${tooOld('20.11.1')}\n`)
  expect(old.stdout).toBe('')
  // Nothing but the check is imported before it.
  expect(readFileSync(join(root, 'cli/main.ts'), 'utf8').match(/^import .*$/gm)).toEqual([
    "import { tooOld } from '../sdk/base/node-version.ts'",
  ])
})

test('importing the library, and the tests and synth of a new project, fail in the same way', async () => {
  const pretend = `data:text/javascript,${encodeURIComponent(`Object.defineProperty(process.versions, 'node', { value: '20.11.1' })`)}`
  for (const entry of ['sdk/local.ts', 'sdk/testing/index.ts']) {
    const args = ['--conditions=overwinter-source', '--import', pretend, join(root, entry)]
    await using old = new Running(process.execPath, args, { cwd: root })
    expect(await old.exited).toBe(1)
    expect(old.stderr).toContain(tooOld('20.11.1'))
  }
  const { scripts } = JSON.parse(templates('p', {})['package.json']!) as { scripts: Record<string, string> }
  expect([scripts.pretest, scripts.presynth, scripts.predeploy]).toEqual(Array(3).fill('overwinter check-node'))
  expect((await overwinter(['check-node'])).code).toBe(0)
})
