import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LocalServer } from '../../functions/local/serve.ts'
import { signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { overwinter, pause } from './fixture.ts'

const go = signal('go')
const order = workflow(
  'order',
  { concurrency: { limit: 1, key: ({ tenant }) => tenant } },
  async (ctx, _: { tenant: string }) => void (await ctx.waitFor(go)),
)
const quick = workflow('quick', async () => 'done')

let local: Local
let server: LocalServer
beforeAll(async () => {
  local = await Local.open({ path: ':memory:', workflows: [order, quick], log: () => {} })
  server = await serveLocal({ local, port: 0 })
  for (const id of ['a1', 'a2', 'a3']) await local.start(order, { tenant: 'acme' }, { id })
  await is('a1', 'waiting')
})
afterAll(async () => {
  await server.close(10)
  await local.close(10)
})

const cli = (...args: string[]) => overwinter([...args, '--url', server.url])
const says = async (...args: string[]) => (await cli(...args)).stdout
const is = async (id: string, status: string) => {
  while ((await local.get(id)).status !== status) await pause(5)
}

test('limits are listed and shown, set, paused, resumed and reset, and the runs in line go accordingly', async () => {
  expect(await says('limits')).toMatch(
    /^LIMIT +IN FORCE +SET +INSIDE +WAITING +PAUSED\norder:concurrency +1 at once for each key +1 +2\n$/,
  )
  expect(await says('limits', 'show', 'order:concurrency')).toBe(
    'order:concurrency  1 at once for each key\n  acme\n    inside   1: a1\n    waiting  2: a2, a3\n',
  )
  expect(await says('show', 'a3')).toMatch(
    /\nqueued: waits for its turn at limit 'order:concurrency' for 'acme' \(place 2\)\n$/,
  )
  expect(await says('runs', '--status', 'queued')).toMatch(/^a2 .* its turn$/m)
  expect(await says('limits', 'set', 'order:concurrency', '--concurrency', '2')).toBe(
    'order:concurrency is now 2 at once; `overwinter limits reset order:concurrency` takes it back\n',
  )
  await is('a2', 'waiting')
  expect(await says('limits')).toMatch(/^order:concurrency +2 at once for each key +yes +2 +1\n?$/m)
  expect(await says('limits', 'show', 'order:concurrency')).toContain(
    'as was set (the code has 1 at once; `overwinter limits reset order:concurrency`)',
  )
  expect(await says('limits', 'pause', 'order:concurrency')).toMatch(
    /^order:concurrency admits nothing until it is resumed/,
  )
  expect(await says('limits')).toMatch(/ yes$/m)
  expect(await says('limits', 'resume', 'order:concurrency')).toBe('order:concurrency admits what is queued again\n')
  expect(await says('limits', 'reset', 'order:concurrency')).toBe(
    'order:concurrency is as in the code again: 1 at once\n',
  )
  expect(JSON.parse(await says('limits', 'show', 'order:concurrency', '--json'))).toMatchObject({
    inForce: { concurrency: 1 },
    gates: [{ inside: 2 }],
  })
})

test('what makes no limit, and a limit that is not there, are refused with a sentence', async () => {
  expect(await cli('limits', 'pause', 'nothing')).toMatchObject({
    code: 1,
    stderr: "no limit is named 'nothing'; known: order:concurrency\n",
  })
  expect(await cli('limits', 'set', 'order:concurrency')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('say what order:concurrency is to be'),
  })
  expect(await cli('limits', 'set', 'order:concurrency', '--concurrency', '0')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('To let nothing through, pause it: `overwinter limits pause <limit>`'),
  })
  for (const rate of [
    ['--per', '5m'],
    ['--rate', '5', '--per', 'soon'],
  ])
    expect(await cli('limits', 'set', 'order:concurrency', ...rate)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('so it takes a concurrency and no rate'),
    })
  expect(await cli('limits', 'resume', 'order:concurrency')).toMatchObject({
    code: 1,
    stderr:
      "limit 'order:concurrency' is not paused, and does not rest; `overwinter limits` lists those that are paused\n",
  })
})

test('a workflow is paused, its runs say so, and resume at a rate lets them go', async () => {
  expect(await says('pauses')).toBe('nothing is paused\n')
  expect(await says('pause', 'quick')).toBe(
    "paused workflow 'quick': nothing new begins, running steps end. `overwinter resume quick` resumes it\n",
  )
  await local.start(quick, undefined, { id: 'held' })
  await is('held', 'queued')
  expect(await says('pauses')).toMatch(/^workflow 'quick' +.* ago +is paused +1 +overwinter resume quick$/m)
  expect(await says('why', 'held')).toMatch(
    /^held waits for the end of the pause of workflow 'quick' \(place 1\)[\s\S]*let workflow 'quick' go on: overwinter resume quick\n$/,
  )
  expect(await says('resume', 'quick', '--rate', '20/s')).toBe("workflow 'quick' goes on, 20 runs a second\n")
  await is('held', 'completed')
})

test('a pause that is over is not told to be resumed, and shows its rate and who is left; one run goes on at no rate', async () => {
  await local.pause({ workflow: 'quick' })
  // More than can go at this rate while a busy machine starts two processes.
  const ids = Array.from({ length: 300 }, (_, i) => `q${i}`)
  for (const id of ids) await local.start(quick, undefined, { id })
  for (const id of ids) await is(id, 'queued')
  expect(await says('resume', 'quick', '--rate', '1/s')).toBe("workflow 'quick' goes on, 1 run a second\n")
  expect(await says('pauses')).toMatch(/^workflow 'quick' +.* ago +goes on, 1 run a second +\d+$/m)
  await local.resume({ workflow: 'quick' }, { perSecond: 1_000 })
  for (const id of ids) await is(id, 'completed')
  await local.pause({ run: 'a1' })
  expect(await says('resume', '--run', 'a1')).toBe("run 'a1' goes on\n")
})

test('who says nothing, or too much, pauses and resumes nothing', async () => {
  for (const args of [['pause'], ['resume'], ['pause', 'quick', '--all'], ['pause', '--all', '--run', 'a1']])
    expect(await cli(...args)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^say what to \w+: a workflow by its name, --run <id>, or --all/),
    })
  expect(await local.pauses()).toEqual([])
  expect(await cli('resume', '--all')).toMatchObject({ code: 1, stderr: expect.stringContaining('is not paused') })
  expect((await cli('resume', '--all', '--rate', 'fast')).code).toBe(2)
})
