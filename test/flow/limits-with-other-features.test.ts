import { expect, test } from 'vitest'
import { limit, schedule, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { timePasses } from './time-passes.ts'

test('a paused limit grants nothing, not even to a run with a reserved start', async () => {
  const times: number[] = []
  const w = workflow('w', { rateLimit: { limit: 1, per: '1h' } }, async (ctx) =>
    ctx.step('go', () => void times.push(env.clock.now())),
  )
  const env = await testEnv({ workflows: [w] })
  for (let i = 0; i < 5; i++) await env.start(w, undefined)
  await env.settle()
  expect(times).toHaveLength(1)
  await env.client.limits.pause('w:rate')
  await env.advance('10m')
  expect(times).toHaveLength(1)
})

test('a coalesced run that is cancelled ends, and later starts are in another run', async () => {
  const seen: number[] = []
  const w = workflow('w', { debounce: { key: () => 'k', wait: '1m' } }, async (ctx, n: number) =>
    ctx.step('go', () => void seen.push(n)),
  )
  const env = await testEnv({ workflows: [w] })
  const first = await env.start(w, 1)
  await env.advance('40s')
  await env.start(w, 2)
  await env.advance('30s')
  await first.cancel('not wanted')
  const status = await first.status()
  const last = await env.start(w, 3)
  await env.advance('10m')
  expect([status, await last.status(), seen]).toEqual(['cancelled', 'completed', [3]])
})

test('a task that is out when its run goes on without it, in a map that needs fewer, leaves its limit', async () => {
  const gpu = limit('l-need', { concurrency: 2 })
  const w = workflow('w', async (ctx) => {
    await ctx.map('each', [1, 2], (c, n) => (n === 1 ? c.sleep('1m') : c.task('render', n, { limit: gpu })), {
      need: 1,
    } as never)
    await ctx.sleep('30d')
  })
  const next = workflow('next', async (ctx) => ctx.step('go', () => 1, { limit: gpu }))
  const env = await testEnv({ workflows: [w, next] })
  await env.start(w, undefined)
  await env.start(w, undefined)
  await env.advance('10m')
  const behind = await env.start(next, undefined)
  await env.advance('1h')
  expect(await behind.status()).toBe('completed')
})

test('the timeout of a queued run begins to count when it starts', async () => {
  const w = workflow('w', { timeout: '10m', concurrency: { limit: 1 } }, async (ctx, ms: number) => ctx.sleep(ms))
  const env = await testEnv({ workflows: [w] })
  const runs = []
  for (let i = 0; i < 4; i++) runs.push(await env.start(w, 9 * 60_000))
  for (const run of runs) await run.result()
})

test('batches that wait at a limit hold no more than their size after it was made smaller', async () => {
  const of = (size: number) =>
    workflow('w', { batch: { size, wait: '10m' } }, async (_ctx, list: number[]) => list.length)
  const env = await testEnv({ workflows: [of(10)] })
  const ids = new Set<string>()
  for (let i = 0; i < 6; i++) ids.add((await env.client.start('w', i)).runId)
  await env.restart([of(2)])
  for (let i = 6; i < 8; i++) ids.add((await env.client.start('w', i)).runId)
  await env.advance('1h')
  const sizes = []
  for (const id of ids) sizes.push((await env.client.get(id)).output as number)
  expect(sizes.reduce((a, b) => a + b, 0)).toBe(8)
})

test('a parent that is terminated ends its queued child, and detached children of a paused workflow wait', async () => {
  const child = workflow('child', { concurrency: { limit: 1 } }, async (ctx) => ctx.sleep('1h'))
  const parent = workflow('parent', async (ctx) => ctx.run(child, undefined, { onParentEnd: 'terminate' }))
  const env = await testEnv({ workflows: [child, parent] })
  const first = await env.start(parent, undefined)
  const second = await env.start(parent, undefined)
  const third = await env.start(parent, undefined)
  await env.settle()
  await env.client.terminate(second.runId)
  await env.settle()
  await first.result()
  await third.result()
  const { runs } = await env.client.list({ workflow: 'child' })
  expect(runs.map(({ status }) => status).sort()).toEqual(['completed', 'completed', 'terminated'])
})

test('keyed concurrency, singleton cancel-running and pauses together leave one', async () => {
  const w = workflow(
    'w',
    { singleton: { key: () => 'k', onConflict: 'cancel-running' }, concurrency: { limit: 1 } },
    async (ctx, n: number) => {
      ctx.compensate('undo', () => 1)
      await ctx.sleep('1h')
      return n
    },
  )
  const env = await testEnv({ workflows: [w] })
  const first = await env.start(w, 1)
  await env.settle()
  await env.client.pause({ all: true })
  const second = await env.start(w, 2)
  const third = await env.start(w, 3)
  await env.advance('10m')
  expect([await first.status(), await second.status()]).toEqual(['cancelled', 'cancelled'])
  await env.client.resume({ all: true })
  expect(await third.result()).toBe(3)
})

test('a stuck run of a workflow with a priority goes on once its code is back', async () => {
  const w = workflow('w', { priority: () => 1 }, async (ctx) => {
    await ctx.sleep('1h')
    return 'done'
  })
  const other = workflow('other', async () => 1)
  const env = await testEnv({ workflows: [w, other] })
  const run = await env.start(w, undefined)
  await env.settle()
  await env.restart([other])
  await env.advance('2h')
  expect(await run.status()).toBe('stuck')
  await env.restart([w, other])
  if ((await run.status()) === 'stuck') await env.client.retry(run.runId)
  await env.advance('5h')
  expect(await run.status()).toBe('completed')
})

test('a schedule goes on after a pause of everything', async () => {
  const times: number[] = []
  const w = workflow('w', { concurrency: { limit: 1 }, rateLimit: { limit: 100, per: '1m' } }, async (ctx) =>
    ctx.step('go', () => void times.push(env.clock.now())),
  )
  const env = await testEnv({ workflows: [w], schedules: [schedule('hourly', { cron: '0 * * * *' }, w, undefined)] })
  await env.advance('2h')
  const before = times.length
  await env.client.pause({ all: true })
  await env.advance('5h')
  expect(times.length).toBe(before)
  await env.client.resume({ all: true })
  await env.advance('3h')
  expect(times.length).toBeGreaterThanOrEqual(before + 3)
  expect(await env.client.pauses()).toEqual([])
})

test('a queued task waits for the pause of its workflow, and for a limit that is lowered below its holders and raised again', async () => {
  const gpu = limit('l-lower', { concurrency: 3 })
  let inside = 0
  let most = 0
  const w = workflow('w', async (ctx, n: number) => ctx.task('render', n, { limit: gpu }))
  const env = await testEnv({ workflows: [w] })
  const runs = []
  for (let i = 0; i < 9; i++) runs.push(await env.start(w, i))
  await env.settle()
  await env.client.limits.set('l-lower', { concurrency: 1 })
  await env.client.pause({ workflow: 'w' })
  await env.advance('1h')
  await env.client.resume({ workflow: 'w' })
  const seen: number[] = []
  env.worker('render', async () => {
    most = Math.max(most, ++inside)
    seen.push(inside)
    await timePasses(env, 10_000)
    inside--
    return 1
  })
  await env.advance('40s')
  await env.client.limits.set('l-lower', { concurrency: 5 })
  for (const run of runs) await run.result()
  expect(most).toBeLessThanOrEqual(5)
})
