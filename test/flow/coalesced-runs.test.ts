import { expect, test } from 'vitest'
import { z } from 'zod'
import { limit, schedule, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const hits = z.object({ n: z.string().transform(Number) })

test('a batched workflow goes on as new with what is left of its list', async () => {
  const w = workflow(
    'w',
    { input: hits, batch: { size: 3, wait: '1m' } },
    async (ctx, list: { n: number }[]): Promise<number> => {
      const [first, ...rest] = list
      await ctx.step('one', () => first!.n)
      if (rest.length > 0) return ctx.continueAsNew(rest.map(({ n }) => ({ n: String(n) })) as never)
      return first!.n
    },
  )
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, { n: '1' } as never)
  await env.start(w, { n: '2' } as never)
  await env.start(w, { n: '3' } as never)
  expect(await run.result()).toBe(3)
})

test.each([
  ['batch', { batch: { size: 1, wait: '1m' } }],
  ['debounce', { debounce: { key: () => 'k', wait: '1m' } }],
  ['priority', { priority: () => 1 }],
])('a failed run of a workflow with a %s and no limits goes on when it is retried', async (_, options) => {
  let broken = true
  const w = workflow('w', options as object, async (ctx) =>
    ctx.step(
      'one',
      () => {
        if (broken) throw new Error('no')
        return 'done'
      },
      { retry: { attempts: 1 } },
    ),
  )
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, 1 as never)
  await env.advance('1m')
  expect(await run.status()).toBe('failed')
  broken = false
  await env.client.retry(run.runId)
  await env.advance('3h')
  expect(await run.status()).toBe('completed')
})

test('a batched run that has ended is rerun with its list', async () => {
  const w = workflow('w', { input: hits, batch: { size: 2, wait: '1m' } }, async (ctx, list: { n: number }[]) =>
    ctx.step('two', () => list.map(({ n }) => n + 1)),
  )
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, { n: '1' } as never)
  await env.start(w, { n: '2' } as never)
  expect(await run.result()).toEqual([2, 3])
  const again = await env.client.rerun(run.runId, { from: 'two' } as never)
  expect(await env.handle(again.runId).result()).toEqual([2, 3])
})

test('a batched workflow with whole-run retries keeps its list', async () => {
  let n = 0
  const w = workflow(
    'w',
    { input: hits, batch: { size: 2, wait: '1m' }, retry: { attempts: 3 } },
    async (_ctx, list: { n: number }[]) => {
      if (n++ === 0) throw new Error('no')
      return list.map((each) => each.n + 1)
    },
  )
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, { n: '1' } as never)
  await env.start(w, { n: '2' } as never)
  expect(await run.result()).toEqual([2, 3])
})

test('a rerun of a limited run is queued at the limit', async () => {
  let inside = 0
  let most = 0
  const w = workflow('w', { concurrency: { limit: 1 } }, async (ctx) => {
    await ctx.step('in', () => void (most = Math.max(most, ++inside)))
    await ctx.sleep('1h')
    await ctx.step('out', () => void inside--)
  })
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, undefined)
  await run.result()
  await env.start(w, undefined)
  await env.settle()
  const again = await env.client.rerun(run.runId, { from: 'in' } as never)
  await env.handle(again.runId).result()
  expect(most).toBe(1)
})

test('a batched workflow that is paused takes all that come, once', async () => {
  const seen: number[] = []
  const w = workflow('w', { batch: { size: 3, wait: '1m' } }, async (ctx, list: number[]) =>
    ctx.step('go', () => void seen.push(...list)),
  )
  const env = await testEnv({ workflows: [w] })
  await env.client.pause({ all: true })
  for (let i = 0; i < 10; i++) {
    await env.start(w, i)
    await env.advance('25s')
  }
  await env.client.resume({ all: true })
  await env.advance('10m')
  expect(seen.sort((a, b) => a - b)).toEqual([...Array(10).keys()])
})

test('debounce.max counts, and a schedule of a batched and a debounced workflow runs', async () => {
  const seen: unknown[] = []
  const d = workflow(
    'd',
    { debounce: { key: () => 'k', wait: '10s', max: '30s' }, concurrency: { limit: 1 } },
    async (ctx, n: number) => ctx.step('go', () => void seen.push(n)),
  )
  const b = workflow(
    'b',
    { batch: { size: 5, wait: '10s' }, rateLimit: { limit: 1, per: '1m' } },
    async (ctx, n: number[]) => ctx.step('go', () => void seen.push(n)),
  )
  const env = await testEnv({
    workflows: [d, b],
    schedules: [schedule('sd', { cron: '*/30 * * * *' }, d, 7), schedule('sb', { cron: '*/30 * * * *' }, b, 8)],
  })
  await env.advance('65m')
  expect(seen).toEqual([7, [8], 7, [8]])
  const begun = env.clock.now()
  for (let i = 0; i < 8; i++) {
    await env.start(d, i)
    await env.advance('5s')
  }
  await env.advance('20s')
  expect(seen.slice(4).length).toBe(2)
  void begun
})

test('a batch that is cancelled before it begins: later starts are in other runs', async () => {
  const w = workflow(
    'w',
    { batch: { size: 3, wait: '1m' }, concurrency: { limit: 1 } },
    async (ctx, list: number[]) => {
      await ctx.sleep('10m')
      return list
    },
  )
  const env = await testEnv({ workflows: [w] })
  const first = await env.start(w, 1)
  await env.advance('2m')
  const second = await env.start(w, 2)
  await env.advance('2m')
  expect(await second.status()).toBe('queued')
  await second.cancel()
  expect(await second.status()).toBe('cancelled')
  const third = await env.start(w, 3)
  expect(await third.result()).toEqual([3])
  expect(await first.result()).toEqual([1])
})

test('an until in a limited workflow, and a limited step that pauses, hold nothing between', async () => {
  const one = limit('g-pause', { concurrency: 1 })
  const p = workflow('p', async (ctx) =>
    ctx.step('go', async ({ pause, lastCheckpoint }) => (lastCheckpoint ? 1 : pause('rest', '1h', 'x')), {
      limit: one,
    }),
  )
  const q = workflow('q', async (ctx) => ctx.step('go', () => 2, { limit: one }))
  const env = await testEnv({ workflows: [p, q] })
  const first = await env.start(p, undefined)
  await env.settle()
  const second = await env.start(q, undefined)
  expect(await second.status()).toBe('completed')
  expect(await first.result()).toBe(1)
})

test('a batch looks at few runs before it begins', async () => {
  const w = workflow('w', { batch: { size: 100, wait: '1m' } }, async (_, list: number[]) => list.length)
  const env = await testEnv({ workflows: [w] })
  await env.client.pause({ all: true })
  const get = env.store.get.bind(env.store)
  const list = env.documents.list.bind(env.documents)
  let gets = 0
  let read = 0
  env.store.get = (...args: Parameters<typeof get>) => {
    gets++
    return get(...args)
  }
  env.documents.list = async (...args: Parameters<typeof list>) => {
    const found = await list(...args)
    if (args[0].startsWith('starts')) read += found.length
    return found
  }
  await env.restart()
  for (let i = 0; i < 1_000; i++) await env.client.start(w, i)
  await env.settle()
  gets = read = 0
  await env.client.resume({ all: true })
  await env.advance('5m')
  expect(gets).toBeLessThan(200)
  expect(read).toBeLessThan(4_000)
})
