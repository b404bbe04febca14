import { expect, test } from 'vitest'
import { signal, workflow } from '../../sdk/index.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { pause, Running, root } from './fixture.ts'

const go = signal<number>('go')
const waits = workflow('waits', async (ctx) => {
  await ctx.step('before', () => 1)
  return ctx.waitFor(go)
})

test('tail tells what happens from now on in every run, once, with the time, the run and its workflow', async () => {
  await using server = Object.assign(
    await serveLocal({ path: ':memory:', workflows: [waits], port: 0, log: () => {} }),
    {
      [Symbol.asyncDispose]: () => server.close(10),
    },
  )
  const old = await server.local.start(waits, undefined, { id: 'old' })
  while ((await server.local.get('old')).status !== 'waiting') await pause(5)

  await using tail = new Running(
    process.execPath,
    ['--conditions=overwinter-source', `${root}cli/main.ts`, 'tail', '--url', server.url],
    { cwd: root },
  )
  // Nothing tells that it has begun to look; what is new to it is told, whenever that is.
  const marks: string[] = []
  while (!tail.stdout.includes('mark')) {
    marks.push((await server.local.start(waits, undefined, { id: `mark-${marks.length}` })).runId)
    await pause(500)
  }
  await old.signal(go, 7)
  await tail.says(/^\S+ \S+ {2}old {2}waits {2}● completed +7$/m)
  expect(tail.stdout).toMatch(/^\S+ \S+ {2}old {2}waits {2}✓ go +signal → 7$/m)
  // What was there before is not told.
  expect(tail.stdout).not.toMatch(/old {2}waits {2}✓ before/)
  expect(tail.stdout.match(/old {2}waits {2}● completed/g)).toHaveLength(1)
})
