import { expect, test } from 'vitest'
import { limit, RetryableError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { timePasses } from './time-passes.ts'

/** Which steps run at once, and when each began. */
function counter() {
  const seen = { inside: 0, most: 0, times: [] as number[] }
  return {
    seen,
    async during(env: { now(): Date }, work: Promise<unknown>): Promise<void> {
      seen.times.push(env.now().getTime())
      seen.most = Math.max(seen.most, ++seen.inside)
      await work
      seen.inside--
    },
  }
}

test('steps of several workflows share a limit, hold nothing while they are queued, and all run in the end', async () => {
  const openai = limit('openai-shared', { concurrency: 2 })
  const { seen, during } = counter()
  const later = (ms: number) => timePasses(env, ms)
  const one = workflow('one', async (ctx) => ctx.step('ask', () => during(env, later(1_000)), { limit: openai }))
  const two = workflow('two', async (ctx) => ctx.step('ask', () => during(env, later(1_000)), { limit: openai }))
  const env = await testEnv({ workflows: [one, two] })
  const runs = []
  for (let i = 0; i < 10; i++) runs.push(await env.start(i % 2 ? one : two, undefined))
  expect((await runs[9]!.get()).waitingFor).toEqual([{ kind: 'limit', id: 'ask', on: 'openai-shared' }])
  for (const run of runs) await run.result()
  expect(seen.most).toBe(2)
  expect(seen.times).toHaveLength(10)
})

test('a rate is kept over a minute, and not missed by more than one in twenty', async () => {
  const api = limit('api-rate', { rate: 100, per: '1m' })
  const times: number[] = []
  const call = workflow('call', async (ctx) => ctx.step('call', () => void times.push(env.clock.now()), { limit: api }))
  const env = await testEnv({ workflows: [call] })
  const runs = []
  for (let i = 0; i < 500; i++) runs.push(await env.start(call, undefined))
  for (const run of runs) await run.result()
  const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 60_000).length))
  expect(most).toBeLessThanOrEqual(100)
  expect(times.at(-1)! - times[0]!).toBeLessThan(4 * 60_000 * 1.05)
})

test('a cooldown that a service asks for slows down all users of the limit', async () => {
  const api = limit('api-429', { concurrency: 5 })
  const times: number[] = []
  const call = workflow('call', async (ctx, n: number) =>
    ctx.step(
      'call',
      ({ attempt }) => {
        if (n === 0 && attempt === 1) throw new RetryableError('429', { after: '10m', limit: api })
        times.push(env.clock.now() - begun)
      },
      { limit: api },
    ),
  )
  const env = await testEnv({ workflows: [call] })
  const begun = env.clock.now()
  const first = await env.start(call, 0)
  await env.settle()
  const others = [await env.start(call, 1), await env.start(call, 2)]
  for (const run of [first, ...others]) await run.result()
  expect(times).toEqual([600_000, 600_000, 600_000])
})

test('what costs more takes more of the rate, and what costs more than there ever is is refused', async () => {
  const tokens = limit('tokens', { rate: 1_000, per: '1m' })
  const times: number[] = []
  const ask = workflow('ask', async (ctx, cost: number) =>
    ctx.step('ask', () => void times.push(env.clock.now() - begun), {
      limit: tokens,
      input: cost,
      cost: (n: number) => n,
    }),
  )
  const env = await testEnv({ workflows: [ask] })
  const begun = env.clock.now()
  const runs = []
  for (const cost of [900, 900, 900]) {
    runs.push(await env.start(ask, cost))
    await env.settle()
  }
  for (const run of runs) await run.result()
  expect(times[0]).toBe(0)
  expect(times[1]).toBeGreaterThanOrEqual(60_000)
  expect(times[2]! - times[1]!).toBeGreaterThanOrEqual(60_000)
  await expect((await env.start(ask, 1_001)).result()).rejects.toThrow(
    "step 'ask' costs 1001, and limit 'tokens' has only 1,000 in 1 min in the code",
  )
})

test('each key of a limit has it all to itself', async () => {
  const perTenant = limit('per-tenant', { concurrency: 1 })
  const hold = workflow('hold', async (ctx, tenant: string) =>
    ctx.step('hold', () => timePasses(env, 60_000), {
      limit: perTenant.for(tenant),
    }),
  )
  const env = await testEnv({ workflows: [hold] })
  const runs = [await env.start(hold, 'a'), await env.start(hold, 'a'), await env.start(hold, 'b')]
  const waits = []
  for (const run of runs) waits.push((await run.get()).status)
  expect(waits).toEqual(['running', 'waiting', 'running'])
  for (const run of runs) await run.result()
})

test('a task is queued before it is dispatched, and releases its slot to the next when it has ended', async () => {
  const gpu = limit('gpu', { concurrency: 1 })
  const render = workflow('render', async (ctx, n: number) => ctx.task<number>('render', n, { limit: gpu }))
  const env = await testEnv({ workflows: [render] })
  const runs = [await env.start(render, 1), await env.start(render, 2)]
  expect((await runs[0]!.get()).waitingFor).toMatchObject([{ kind: 'task' }])
  expect((await runs[1]!.get()).waitingFor).toMatchObject([{ kind: 'limit', on: 'gpu' }])
  const worker = env.worker('render', ({ input }) => (input as number) * 10)
  void worker
  expect([await runs[0]!.result(), await runs[1]!.result()]).toEqual([10, 20])
})

test('a run that is ended from outside leaves the limit to others', async () => {
  const one = limit('one-at-a-time', { concurrency: 1 })
  const hold = workflow('hold', async (ctx) =>
    ctx.step('hold', () => timePasses(env, 60_000), {
      limit: one,
    }),
  )
  const env = await testEnv({ workflows: [hold] })
  const [first, second] = [await env.start(hold, undefined), await env.start(hold, undefined)]
  expect(await second.status()).toBe('waiting')
  await env.client.terminate(first.runId)
  expect(await second.status()).toBe('running')
  await second.result()
})

test('a process that dies in the middle of a step takes no slot along', async () => {
  const one = limit('mortal', { concurrency: 1 })
  const done: number[] = []
  const hold = workflow('hold', async (ctx, n: number) =>
    ctx.step('hold', () => timePasses(env, 60_000).then(() => void done.push(n)), { limit: one }),
  )
  const env = await testEnv({ workflows: [hold] })
  const runs = [await env.start(hold, 1), await env.start(hold, 2)]
  await env.settle()
  await env.restart()
  for (const run of runs) await run.result()
  // The body of the dead process goes on here, as no dead one would.
  expect(new Set(done)).toEqual(new Set([1, 2]))
})

test('a reserved start is journaled once, however often its run is woken before', async () => {
  const hourly = limit('hourly-once', { rate: 1, per: '1h' })
  const ask = workflow('ask', async (ctx) => ctx.step('ask', () => 'asked', { limit: hourly }))
  const env = await testEnv({ workflows: [ask] })
  await (await env.start(ask, undefined)).result()
  const second = await env.start(ask, undefined)
  for (let i = 0; i < 5; i++) {
    await env.client.signal(second.runId, 'hello', i)
    await env.settle()
  }
  expect(await second.result()).toBe('asked')
  expect((await second.history()).filter(({ type }) => type === 'step.admitted')).toHaveLength(1)
})

test('a step with a reserved start does not begin while its limit is paused, and begins when it is resumed', async () => {
  const hourly = limit('hourly-paused', { rate: 1, per: '1h' })
  const ask = workflow('ask', async (ctx) => ctx.step('ask', () => 'asked', { limit: hourly }))
  const env = await testEnv({ workflows: [ask] })
  await (await env.start(ask, undefined)).result()
  const second = await env.start(ask, undefined)
  await env.advance('10m')
  await env.client.limits.pause('hourly-paused')
  await env.advance('3h')
  expect(await second.status()).toBe('waiting')
  expect((await second.get()).waitingFor).toMatchObject([{ kind: 'limit', on: 'hourly-paused' }])
  await env.client.limits.resume('hourly-paused')
  await env.settle()
  expect(await second.status()).toBe('completed')
})

test('a cooldown of a whole limit slows down every key of it, a cooldown of one key only that key', async () => {
  const api = limit('rests-in-all', { rate: 100, per: '1m' })
  let asked = 0
  const call = workflow('call', async (ctx, { key, rests }: { key: string; rests?: 'all' | 'key' }) =>
    ctx.step(
      'call',
      ({ attempt }) => {
        if (rests && attempt === 1)
          throw new RetryableError('429', { after: '10m', limit: rests === 'all' ? api : api.for(key) })
        asked++
        return env.clock.now()
      },
      { limit: api.for(key) },
    ),
  )
  const env = await testEnv({ workflows: [call] })
  const began = env.clock.now()
  const done = async (input: { key: string; rests?: 'all' | 'key' }) => (await env.start(call, input)).result()
  await env.start(call, { key: 'a', rests: 'key' })
  await env.settle()
  expect(await done({ key: 'b' })).toBe(began)
  await env.start(call, { key: 'c', rests: 'all' })
  await env.settle()
  const [b, d] = [await env.start(call, { key: 'b' }), await env.start(call, { key: 'd' })]
  await env.advance('5m')
  expect(asked).toBe(1)
  expect((await env.client.limits.get('rests-in-all')).gates.map(({ restUntil }) => restUntil)).toEqual(
    [1, 2, 3, 4].map(() => began + 600_000),
  )
  expect(await b.result()).toBeGreaterThanOrEqual(began + 600_000)
  expect(await d.result()).toBeLessThan(began + 601_000)
})

test('new numbers that an operator sets end the cooldown of a limit', async () => {
  const api = limit('rest-ends', { rate: 100, per: '1m' })
  const call = workflow('call', async (ctx, key: string) =>
    ctx.step(
      'call',
      ({ attempt }) => {
        if (key === 'a' && attempt === 1) throw new RetryableError('429', { after: '10m', limit: api })
        return env.clock.now()
      },
      { limit: api.for(key) },
    ),
  )
  const env = await testEnv({ workflows: [call] })
  const began = env.clock.now()
  await env.start(call, 'a')
  await env.settle()
  await env.client.limits.set('rest-ends', { rate: 50 })
  expect(await (await env.start(call, 'b')).result()).toBe(began)
})

test.each([-5, 'soon', '400d', Number.NaN])(
  'a step that asks for a rest of %s fails as it does without a limit, after one attempt, and its limit goes on',
  async (after) => {
    const api = limit('odd-rest', { concurrency: 1 })
    let attempts = 0
    const ask = workflow('ask', async (ctx, isOdd: boolean) =>
      ctx.step(
        'ask',
        () => {
          if (!isOdd) return 'asked'
          attempts++
          throw new RetryableError('429', { after: after as never, limit: api })
        },
        { limit: api },
      ),
    )
    const env = await testEnv({ workflows: [ask] })
    await expect((await env.start(ask, true)).result()).rejects.toThrow(/'after' of a RetryableError in step 'ask'/)
    expect(attempts).toBe(1)
    expect(await (await env.start(ask, false)).result()).toBe('asked')
  },
)

test('a step that asks for a cooldown of something that is no limit fails with a hint what to write', async () => {
  const ask = workflow('ask', async (ctx) =>
    ctx.step('ask', () => {
      throw new RetryableError('429', { after: '1s', limit: 'api' as never })
    }),
  )
  const env = await testEnv({ workflows: [ask] })
  await expect((await env.start(ask)).result()).rejects.toThrow(
    "a RetryableError in step 'ask': `limit` must be what limit(…) has made",
  )
})

test('changed numbers count for a step with a reserved start, and for those behind it', async () => {
  const daily = limit('daily', { concurrency: 1, rate: 1, per: '1d' })
  const ask = workflow('ask', async (ctx) => ctx.step('ask', () => env.clock.now(), { limit: daily }))
  const env = await testEnv({ workflows: [ask] })
  const began = env.clock.now()
  await (await env.start(ask)).result()
  const runs = [await env.start(ask), await env.start(ask), await env.start(ask)]
  await env.advance('10m')
  await env.client.limits.set('daily', { rate: 1_000, per: '1s' })
  await env.advance('1m')
  for (const run of runs) expect(await run.status()).toBe('completed')
  expect(await runs[2]!.result()).toBeLessThan(began + 700_000)
})

test('a cooldown is shown as the reason, with what ends it, and ends with it', async () => {
  const api = limit('told-rest', { concurrency: 1 })
  const ask = workflow('ask', async (ctx, isBusy: boolean) =>
    ctx.step(
      'ask',
      ({ attempt }) => {
        if (isBusy && attempt === 1) throw new RetryableError('429', { after: '2h', limit: api })
        return 'asked'
      },
      { limit: api },
    ),
  )
  const env = await testEnv({ workflows: [ask] })
  await env.start(ask, true)
  await env.settle()
  const runs = [await env.start(ask, false), await env.start(ask, false)]
  await env.settle()
  const { waits, remedies } = await env.client.why(runs[1]!.runId)
  expect(waits[0]!.evidence[0]).toMatch(/^it is in a cooldown until .*, which the service behind it asked for; place/)
  expect(remedies).toEqual([
    {
      what: "end the cooldown of limit 'told-rest', if the service has recovered",
      command: 'overwinter limits resume told-rest',
    },
  ])
  await env.client.limits.resume('told-rest')
  await env.advance('1m')
  for (const run of runs) expect(await run.status()).toBe('completed')
})
