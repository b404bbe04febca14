import { expect, test } from 'vitest'
import { limit, RetryableError, schedule, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { timePasses } from './time-passes.ts'

test('runs with a later start time queue at their limits then', async () => {
  let inside = 0
  let most = 0
  const one = workflow('one', { concurrency: { limit: 1 } }, async (ctx) => {
    await ctx.step('in', () => void (most = Math.max(most, ++inside)))
    await ctx.sleep('1m')
    await ctx.step('out', () => void inside--)
  })
  const env = await testEnv({ workflows: [one] })
  const runs = []
  for (let i = 0; i < 5; i++) runs.push(await env.start(one, undefined, { delay: '5s' }))
  for (const run of runs) await run.result()
  expect(most).toBe(1)
})

test('coalesced runs queue at the limits of their workflow', async () => {
  const times: number[] = []
  const bill = workflow(
    'bill',
    { batch: { size: 2, wait: '1m' }, rateLimit: { limit: 1, per: '1h' } },
    async (ctx, inputs: number[]) => {
      await ctx.step('note', () => void times.push(env.clock.now()))
      return inputs
    },
  )
  const env = await testEnv({ workflows: [bill] })
  const ids = []
  for (let i = 0; i < 6; i++) ids.push(await env.start(bill, i))
  for (const run of ids) await run.result()
  expect(times[2]! - times[0]!).toBeGreaterThanOrEqual(2 * 3_600_000)
})

test.each(['cancel', 'terminate'] as const)(
  'a run with a reserved start that is to %s leaves its time to those behind it',
  async (act) => {
    const slow = workflow('slow', { rateLimit: { limit: 1, per: '1m' } }, async (_, n: number) => n)
    const env = await testEnv({ workflows: [slow] })
    const runs = []
    for (let i = 0; i < 5; i++) runs.push(await env.start(slow, i))
    await env.settle()
    if (act === 'cancel') await runs[1]!.cancel()
    else await env.client.terminate(runs[1]!.runId)
    await env.advance('1h')
    const states = []
    for (const run of runs) states.push(await run.status())
    expect(states).toEqual([
      'completed',
      act === 'cancel' ? 'cancelled' : 'terminated',
      'completed',
      'completed',
      'completed',
    ])
  },
)

test('a queued step whose run continues as new leaves the queue, and a renamed limit does not block it', async () => {
  const one = limit('lines-one', { concurrency: 1 })
  const other = limit('lines-other', { concurrency: 1 })
  const hold = workflow('hold', async (ctx) =>
    ctx.step('hold', () => timePasses(env, 60_000), {
      limit: one,
    }),
  )
  const before = workflow('moves', async (ctx) => {
    await ctx.step('ask', () => 1, { limit: one })
    await ctx.sleep('30d')
  })
  const after = workflow('moves', async (ctx) => {
    await ctx.step('ask', () => 1, { limit: other })
    await ctx.sleep('30d')
  })
  const env = await testEnv({ workflows: [hold, before] })
  await env.start(hold, undefined)
  await env.settle()
  const moved = await env.start(before, undefined)
  expect(await moved.status()).toBe('waiting')
  await env.restart([hold, after])
  await env.client.wake(moved.runId)
  await env.advance('5m')
  expect(await moved.status()).toBe('sleeping')
  const next = await env.start(hold, undefined)
  await env.advance('5m')
  expect(await next.status()).toBe('completed')
})

test('a paused workflow holds no slot of a limit that other workflows use', async () => {
  const shared = limit('lines-shared', { concurrency: 1 })
  const hold = (name: string) =>
    workflow(name, async (ctx) =>
      ctx.step('hold', () => timePasses(env, 60_000), {
        limit: shared,
      }),
    )
  const [first, paused, other] = [hold('first'), hold('paused'), hold('other')]
  const env = await testEnv({ workflows: [first, paused, other] })
  await env.start(first, undefined)
  await env.settle()
  const waits = await env.start(paused, undefined)
  await env.settle()
  const behind = await env.start(other, undefined)
  await env.settle()
  await env.client.pause({ workflow: 'paused' })
  await env.client.signal(waits.runId, 'look')
  await env.advance('10m')
  expect(await behind.status()).toBe('completed')
  await env.client.resume({ workflow: 'paused' })
  await waits.result()
})

test('a limit that was paused for months grants queued runs when it is resumed', async () => {
  const w = workflow('w', { concurrency: { limit: 1 } }, async (_, n: number) => n)
  const env = await testEnv({ workflows: [w] })
  await (await env.start(w, 1)).result()
  await env.client.limits.pause('w:concurrency')
  const run = await env.start(w, 2)
  await env.advance('30h')
  await env.client.limits.resume('w:concurrency')
  expect(await run.result()).toBe(2)
})

test('a pause that is set again while it is resumed stops the runs that it released', async () => {
  const done: number[] = []
  const two = workflow('two', async (ctx, n: number) => {
    await ctx.step('first', () => 1)
    await ctx.sleep('10s')
    await ctx.step('second', () => void done.push(n))
  })
  const env = await testEnv({ workflows: [two] })
  await env.client.pause({ all: true })
  for (let i = 0; i < 20; i++) await env.start(two, i)
  await env.settle()
  await env.client.resume({ all: true }, { perSecond: 1 })
  await env.advance('3s')
  await env.client.pause({ all: true })
  await env.advance('1h')
  expect(done).toEqual([])
  await env.client.resume({ all: true })
  await env.advance('1h')
  expect(done).toHaveLength(20)
})

test('numbers that an operator sets count at once, and end a cooldown', async () => {
  const w = workflow('w', { rateLimit: { limit: 1, per: '31d' } }, async (_, n: number) => n)
  const api = limit('lines-rest', { concurrency: 1 })
  const call = workflow('call', async (ctx, n: number) =>
    ctx.step(
      'call',
      ({ attempt }) => {
        if (n === 0 && attempt === 1) throw new RetryableError('429', { after: '30d', limit: api })
      },
      { limit: api },
    ),
  )
  const env = await testEnv({ workflows: [w, call] })
  const runs = [await env.start(w, 0), await env.start(w, 1), await env.start(w, 2)]
  await env.settle()
  await env.client.limits.set('w:rate', { rate: 1_000, per: '1s' })
  await env.advance('1m')
  for (const run of runs) expect(await run.status()).toBe('completed')
  await env.start(call, 0)
  await env.settle()
  const waits = await env.start(call, 1)
  const behind = await env.start(call, 2)
  expect([await waits.status(), await behind.status()]).not.toContain('completed')
  await env.client.limits.set('lines-rest', { concurrency: 2 })
  await env.advance('1m')
  // The first has a reserved start, and keeps it.
  expect(await behind.status()).toBe('completed')
  await expect(env.client.limits.set('w:rate', { concurrency: 1 })).rejects.toThrow(
    'it takes a rate and no concurrency',
  )
})

test('a child beside a singleton that has not ended is refused, and its schedule goes on', async () => {
  const sync = workflow('sync', { singleton: { key: () => 'one', onConflict: 'skip' } }, async (ctx) =>
    ctx.sleep('90m'),
  )
  const parent = workflow('parent', async (ctx) => ctx.run(sync, undefined))
  const hourly = schedule('hourly', { cron: '0 * * * *' }, sync, undefined)
  const env = await testEnv({ workflows: [sync, parent], schedules: [hourly] })
  await env.start(sync, undefined)
  await expect((await env.start(parent, undefined)).result()).rejects.toThrow(
    'has the same singleton key and has not ended',
  )
  await env.advance('6h')
  const { runs } = await env.client.list({ workflow: 'sync' })
  expect(runs.length).toBeGreaterThanOrEqual(3)
})

test('no start joins a run that has ended, and no later run gets what was erased', async () => {
  const save = workflow('save', { batch: { size: 10, wait: '1m' } }, async (_, inputs: string[]) => inputs)
  const env = await testEnv({ workflows: [save] })
  const dead = await env.start(save, 'secret')
  await dead.cancel()
  expect(await dead.status()).toBe('cancelled')
  const next = await env.start(save, 'a')
  expect(next.runId).not.toBe(dead.runId)
  await env.client.erase(dead.runId)
  await env.start(save, 'b')
  expect(await next.result()).toEqual(['a', 'b'])
})

test('a start that is repeated at once under its key counts once', async () => {
  const save = workflow('save', { batch: { size: 10, wait: '1m' } }, async (_, inputs: string[]) => inputs)
  const env = await testEnv({ workflows: [save] })
  const started = await Promise.all([1, 2, 3].map(() => env.client.start(save, 'x', { idempotencyKey: 'k' })))
  expect(new Set(started.map(({ runId }) => runId)).size).toBe(1)
  expect(await env.skipUntil(started[0]!.result())).toEqual(['x'])
})

test('code that no longer coalesces takes the starts that have come', async () => {
  const gathers = workflow('save', { batch: { size: 10, wait: '1m' } }, async (_, inputs: string[]) => inputs)
  const plain = workflow('save', async (_, input: string) => input)
  const env = await testEnv({ workflows: [gathers] })
  const run = await env.start(gathers, 'x')
  await env.restart([plain])
  expect(await run.result()).toBe('x')
})
