import { expect, test } from 'vitest'
import { limit, Registry, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { slowCloud } from '../outside/slow-cloud.ts'
import { oneHolder } from './one-holder.ts'

/**
 * One run holds the slot. Behind it, a few steps of a second run are queued, and then a step of a third. The holder
 * releases, and something happens to the second run before it has heard of its grant. The third must get the slot.
 */
test.each(['terminated', 'paused'] as const)(
  'a run with queued steps releases the limiter when it is %s before it has heard of its grant',
  async (how) => {
    const bad: string[] = []
    for (const count of [1, 2, 3, 6]) {
      for (let n = 0; n < 3; n++) {
        const one = limit(`several`, { concurrency: 1 })
        let release = () => {}
        const hold = workflow('hold', async (ctx) =>
          ctx.step('hold', () => new Promise<void>((resolve) => (release = resolve)), { limit: one }),
        )
        const quick = workflow('quick', async (ctx) => ctx.step('go', () => 1, { limit: one }))
        const many = workflow('many', async (ctx) => {
          await Promise.all(Array.from({ length: count }, (_, i) => ctx.step(`s${i}`, () => 1, { limit: one })))
        })
        const { open, take, wait, stop } = slowCloud([hold, quick, many], `${n}`)
        const client = open()
        const a = await client.start(hold)
        const taking = take(client, a.runId)
        await wait(1_000)
        const b = await client.start(many)
        await take(client, b.runId)
        const c = await client.start(quick)
        await take(client, c.runId)
        release()
        await taking
        if (how === 'terminated') await client.terminate(b.runId)
        else {
          await client.pause({ run: b.runId })
          await take(client, b.runId)
          expect((await client.get(b.runId)).status).toBe('queued')
        }
        for (let i = 0; i < 10; i++) {
          await wait(60_000)
          await take(client, c.runId)
        }
        if ((await client.get(c.runId)).status !== 'completed') bad.push(`${count} in line, seed ${n}`)
        stop()
      }
    }
    expect(bad).toEqual([])
  },
)

test.each(['pause', 'terminate'] as const)(
  'local: a run with several queued steps releases the limit on %s',
  async (how) => {
    const one = limit('sl-local', { concurrency: 1 })
    const hold = workflow('hold', async (ctx) => ctx.task('outside', undefined as never, { limit: one } as never))
    const quick = workflow('quick', async (ctx) => ctx.step('go', () => 1, { limit: one }))
    const many = workflow('many', async (ctx) => {
      await Promise.all(['c', 'b', 'a'].map((name) => ctx.step(name, () => 1, { limit: one })))
    })
    const env = await testEnv({ workflows: [hold, quick, many] })
    const a = await env.start(hold)
    await env.advance('1s')
    const b = await env.start(many)
    await env.advance('1s')
    const c = await env.start(quick)
    await env.advance('1s')
    if (how === 'pause') await env.client.pause({ run: b.runId })
    else {
      const { store } = env.client.world
      const terminate = store.terminate.bind(store)
      // B is terminated right behind the end of A, before it has heard of its turn.
      store.terminate = async (...args) => {
        const ended = await terminate(...args)
        store.terminate = terminate
        const too = await terminate(b.runId, 'too')
        return { ...ended, wakes: [...ended.wakes, ...too.wakes] }
      }
    }
    await env.client.terminate(a.runId)
    await env.advance('3h')
    expect((await c.get()).status).toBe('completed')
  },
)

test('a rate holds over a pause: a step that was granted while its run was being paused is counted when it begins', async () => {
  const rated = limit('sl-rate', { rate: 2, per: '10s' })
  const at: number[] = []
  const many = workflow('many', async (ctx) => {
    await Promise.all(
      ['d', 'c', 'b', 'a'].map((name) => ctx.step(name, () => void at.push(env.clock.now()), { limit: rated })),
    )
  })
  const quick = workflow('quick', async (ctx) => ctx.step('go', () => void at.push(env.clock.now()), { limit: rated }))
  const env = await testEnv({ workflows: [many, quick] })
  await env.start(quick)
  await env.start(quick)
  const b = await env.start(many)
  await env.advance('1s')
  await env.client.pause({ run: b.runId })
  await env.advance('5m')
  const others = [await env.start(quick), await env.start(quick)]
  await env.client.resume({ run: b.runId })
  await env.advance('5m')
  expect((await b.get()).status).toBe('completed')
  for (const one of others) expect((await one.get()).status).toBe('completed')
  for (const t of at) expect(at.filter((o) => o >= t && o < t + 10_000).length).toBeLessThanOrEqual(2)
})

test('a run that is terminated while some of its steps hold slots and others are queued releases all of them', async () => {
  const two = limit('map-term', { concurrency: 2 })
  const many = workflow('many', async (ctx) => {
    await Promise.all(
      Array.from({ length: 6 }, (_, i) => ctx.step(`s${i}`, () => new Promise<void>(() => {}), { limit: two })),
    )
  })
  const quick = workflow('quick', async (ctx) => ctx.step('go', () => 1, { limit: two }))
  const { open, take, wait } = slowCloud([many, quick])
  const client = open()
  const b = await client.start(many)
  void take(client, b.runId).catch(() => {})
  await wait(5_000)
  const c = await client.start(quick)
  await take(client, c.runId)
  expect((await client.get(c.runId)).status).toBe('waiting')
  await client.terminate(b.runId)
  for (let i = 0; i < 24 * 6; i++) {
    await wait(600_000)
    await take(client, c.runId)
  }
  expect((await client.get(b.runId)).status).toBe('terminated')
  expect((await client.get(c.runId)).status).toBe('completed')
})

test.each(['terminated', 'paused'] as const)(
  'a run whose step was granted, and that a runner without its code has released, releases its slot when it is %s',
  async (how) => {
    const { client, next, takeNext, leave, statusOfLast } = await oneHolder(`uh-${how}`)
    await leave()
    await takeNext(new Registry([]))
    if (how === 'terminated') await client.terminate(next)
    else {
      await client.pause({ run: next })
      await takeNext()
      expect((await client.get(next)).status).toBe('queued')
    }
    expect(await statusOfLast()).toBe('completed')
  },
)

test('a run that continues as new in the last moments of its runner leaves the queue of its step', async () => {
  const one = limit('rel-cont', { concurrency: 1 })
  let release = () => {}
  const hold = workflow('hold', async (ctx) =>
    ctx.step('hold', () => new Promise<void>((resolve) => (release = resolve)), { limit: one }),
  )
  const quick = workflow('quick', async (ctx) => ctx.step('go', () => 1, { limit: one }))
  const again = workflow('again', async (ctx, n: number) => {
    if (n === 1) return ctx.sleep('30d')
    void ctx.step('side', () => 1, { limit: one }).catch(() => {})
    await ctx.step('long', () => new Promise<void>(() => {}), { retry: { attempts: 1 } } as never).catch(() => {})
    return ctx.continueAsNew(1 as never)
  })
  const { open, take, wait, clock } = slowCloud([hold, quick, again as never])
  const client = open()
  const a = await client.start(hold)
  const taking = take(client, a.runId)
  await wait(1_000)
  const b = await client.start(again as never, 0 as never)
  await take(client, b.runId, { deadline: clock.now() + 20_000 })
  await take(client, b.runId)
  expect(await client.get(b.runId)).toMatchObject({ status: 'sleeping' })
  const c = await client.start(quick)
  await take(client, c.runId)
  release()
  await taking
  for (let i = 0; i < 10; i++) {
    await wait(60_000)
    await take(client, b.runId)
    await take(client, c.runId)
  }
  expect((await client.get(c.runId)).status).toBe('completed')
})

test('a paused run with a long running step takes no slots for its queued steps', async () => {
  const one = limit('pt', { concurrency: 1 })
  let end = () => {}
  const many = workflow('many', async (ctx) => {
    const steps = ['a', 'b', 'c'].map((name) =>
      ctx.step(name, () => new Promise<void>((resolve) => (end = resolve)), { limit: one }),
    )
    await Promise.all([ctx.step('long', () => new Promise<void>(() => {})), ...steps])
  })
  const quick = workflow('quick', async (ctx) => ctx.step('go', () => 1, { limit: one }))
  const { open, take, wait } = slowCloud([many, quick])
  const client = open()
  const b = await client.start(many)
  void take(client, b.runId).catch(() => {})
  await wait(5_000)
  const c = await client.start(quick)
  await take(client, c.runId)
  await client.pause({ run: b.runId })
  end()
  for (let i = 0; i < 60; i++) {
    await wait(60_000)
    await take(client, c.runId)
  }
  expect((await client.get(c.runId)).status).toBe('completed')
})

test('an at-most-once step whose process died releases its slot once that is delivered to the code', async () => {
  const one = limit('amo', { concurrency: 1 })
  const pay = workflow('pay', async (ctx) => {
    await ctx.step('pay', () => new Promise<void>(() => {}), { limit: one, semantics: 'at-most-once' }).catch(() => {})
    await ctx.sleep('30d')
  })
  const quick = workflow('quick', async (ctx) => ctx.step('go', () => 1, { limit: one }))
  const { open, take, wait } = slowCloud([pay, quick])
  const client = open()
  const a = await client.start(pay)
  const dies = open()
  void take(dies, a.runId, { lease: { owner: 'dies', ms: 5_000 } }).catch(() => {})
  await wait(1_000)
  dies.world.store.renew = () => new Promise(() => {})
  await wait(60_000)
  await take(client, a.runId)
  expect((await client.get(a.runId)).status).toBe('sleeping')
  const b = await client.start(quick)
  for (let i = 0; i < 70; i++) {
    await take(client, b.runId)
    await wait(60_000)
  }
  expect((await client.get(b.runId)).status).toBe('completed')
})

test('a step of a cancelled run whose process died releases its slot before the clean-up', async () => {
  const one = limit('canc', { concurrency: 1 })
  const pay = workflow('pay', async (ctx) => {
    try {
      await ctx.step('pay', () => new Promise<void>(() => {}), { limit: one })
    } finally {
      await ctx.sleep('30d')
    }
  })
  const quick = workflow('quick', async (ctx) => ctx.step('go', () => 1, { limit: one }))
  const bad: number[] = []
  for (let n = 0; n <= 12; n++) {
    const { open, take, wait, stop } = slowCloud([pay, quick], `${n}`)
    const client = open()
    const a = await client.start(pay)
    const dies = open()
    void take(dies, a.runId, { lease: { owner: 'dies', ms: 5_000 } }).catch(() => {})
    await wait(1_000)
    dies.world.store.renew = () => new Promise(() => {})
    await wait(60_000)
    await client.cancel(a.runId)
    void take(
      open((nth) => nth === n),
      a.runId,
      { lease: { owner: 'dies2', ms: 5_000 } },
    ).catch(() => {})
    await wait(60_000)
    await take(client, a.runId)
    const b = await client.start(quick)
    for (let i = 0; i < 10; i++) {
      await take(client, b.runId)
      await wait(60_000)
    }
    if ((await client.get(b.runId)).status !== 'completed') bad.push(n)
    stop()
  }
  expect(bad).toEqual([])
})
