import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import type { Duration } from '../../sdk/base/duration.ts'
import { signal, TimeoutError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

describe('a sleep', () => {
  it('holds nothing and wakes exactly on time', async () => {
    const w = workflow('w', async (ctx) => {
      const before = ctx.now()
      await ctx.sleep('a-day', '24h')
      return ctx.now() - before
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.status()).toBe('sleeping')
    const { wakeAt, waitingFor } = await run.get()
    expect(wakeAt).toBe(env.clock.now() + 86_400_000)
    expect(waitingFor).toEqual([{ kind: 'sleep', id: 'a-day', until: wakeAt }])
    await env.advance(86_399_999)
    expect(await run.status()).toBe('sleeping')
    await env.advance(1)
    expect(await run.status()).toBe('completed')
    expect(await run.result()).toBe(86_400_000)
  })

  it('may come many times in a run, each matched by its own identity', async () => {
    const w = workflow('w', async (ctx) => {
      const times: number[] = []
      for (let i = 0; i < 3; i++) {
        await ctx.sleep('1h')
        times.push(ctx.now())
      }
      return times
    })
    const env = await testEnv({ workflows: [w] })
    const start = env.clock.now()
    const run = await env.start(w, undefined)
    expect(await run.result()).toEqual([1, 2, 3].map((h) => start + h * 3_600_000))
    expect((await run.history()).filter((e) => e.type === 'sleep.started').map((e) => 'id' in e && e.id)).toEqual([
      'sleep',
      'sleep:1',
      'sleep:2',
    ])
  })

  it('until a point in time ends then, and at once if that has passed', async () => {
    const w = workflow('w', async (ctx, when: string) => {
      const before = ctx.now()
      await ctx.sleepUntil('launch', when)
      return ctx.now() - before
    })
    const env = await testEnv({ workflows: [w], startTime: '2026-04-15T08:00:00Z' })
    expect(await (await env.start(w, '2026-04-15T09:00:00.000Z')).result()).toBe(3_600_000)
    expect(await (await env.start(w, '2020-01-01T00:00:00.000Z')).result()).toBe(0)
  })

  it('survives a crash of the process and still ends on time', async () => {
    const w = workflow('w', async (ctx) => {
      await ctx.sleep('nap', '2h')
      return ctx.now()
    })
    const env = await testEnv({ workflows: [w] })
    const start = env.clock.now()
    const run = await env.start(w, undefined)
    await env.advance('1h')
    await env.restart()
    await env.advance('59m')
    expect(await run.status()).toBe('sleeping')
    expect(await run.result()).toBe(start + 7_200_000)
  })

  it('can be skipped from outside', async () => {
    const w = workflow('w', async (ctx) => {
      await ctx.sleep('long', '300d')
      await ctx.sleep('short', '1h')
      return 'done'
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    const before = env.clock.now()
    await env.client.wake(run.runId)
    await env.settle()
    expect((await run.get()).waitingFor).toMatchObject([{ id: 'short' }])
    expect(await run.result()).toBe('done')
    expect(env.clock.now() - before).toBe(3_600_000)
  })

  it('of nothing ends at once, as one until now does: a duration may have been worked out', async () => {
    const w = workflow('w', async (ctx, ms: number) => {
      await ctx.sleep('nap', ms)
      return ctx.now()
    })
    const env = await testEnv({ workflows: [w] })
    const before = env.clock.now()
    expect(await (await env.start(w, 0)).result()).toBe(before)
  })

  it.each<[string, Duration, string]>([
    ['negative', '-5s', 'negative'],
    ['NaN', Number.NaN, 'NaN is not a duration'],
    ['nonsense', 'tomorrow' as Duration, 'not a duration'],
    ['over 365 days', '366d', '365 days'],
    ['an unknown field', { fortnights: 1 } as never, 'not a duration'],
  ])('of %s is refused before anything is written', async (_what, duration, message) => {
    const w = workflow('w', async (ctx) => {
      await ctx.sleep('nap', duration)
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow(message)
    expect((await run.history()).map(({ type }) => type)).toEqual(['run.started', 'run.failed'])
  })

  it('of 365 days is fine, and one over 30 days leaves a warning', async () => {
    const w = workflow('w', async (ctx) => {
      await ctx.sleep('year', '365d')
      return 'spring'
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe('spring')
    expect(env.logs.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      expect.stringContaining("'year' is longer than 30 days"),
    ])
  })
})

const approved = signal('approved', z.object({ by: z.string() }))

describe('a signal', () => {
  const approval = workflow('approval', async (ctx) => {
    const ok = await ctx.waitFor(approved, { timeout: '30m' })
    return ok ? ok.by : 'expired'
  })

  it('wakes the run that waits for it', async () => {
    const env = await testEnv({ workflows: [approval] })
    const run = await env.start(approval, undefined)
    expect(await run.status()).toBe('waiting')
    expect((await run.get()).waitingFor).toMatchObject([{ kind: 'signal', on: 'approved' }])
    await run.signal(approved, { by: 'Ada' })
    expect(await run.result()).toBe('Ada')
  })

  it('that does not come in time gives undefined, not an error', async () => {
    const env = await testEnv({ workflows: [approval] })
    const run = await env.start(approval, undefined)
    const start = env.clock.now()
    expect(await run.result()).toBe('expired')
    expect(env.clock.now() - start).toBe(30 * 60_000)
  })

  it('sent before the wait is kept, in order, and consumed once', async () => {
    const tick = signal<number>('tick')
    const w = workflow('w', async (ctx) => {
      await ctx.sleep('first', '1h')
      const got = [await ctx.waitFor(tick), await ctx.waitFor(tick), await ctx.waitFor(tick, { timeout: '1h' })]
      return got.map((n) => n ?? null)
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await run.signal(tick, 1)
    await run.signal(tick, 2)
    expect(await run.result()).toEqual([1, 2, null])
  })

  it('with an idempotency key counts once', async () => {
    const tick = signal<number>('tick')
    const w = workflow('w', async (ctx) => [
      (await ctx.waitFor(tick)) ?? 0,
      (await ctx.waitFor(tick, { timeout: '1m' })) ?? 0,
    ])
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.signal(tick, 1, { idempotencyKey: 'k' })).toEqual({ accepted: true })
    await env.settle()
    expect(await run.signal(tick, 1, { idempotencyKey: 'k' })).toEqual({ accepted: false })
    expect(await run.result()).toEqual([1, 0])
  })

  it('goes to the first of several waits, in the order of their calls', async () => {
    const tick = signal<number>('tick')
    const w = workflow('w', async (ctx) => Promise.all([ctx.waitFor(tick), ctx.waitFor(tick), ctx.waitFor(tick)]))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    for (const n of [10, 20, 30]) await run.signal(tick, n)
    expect(await run.result()).toEqual([10, 20, 30])
  })

  it('reaches a branch while a step of another branch still runs', async () => {
    const go = signal<string>('go')
    let finish = () => {}
    const seen: string[] = []
    const w = workflow('w', async (ctx) => {
      await Promise.all([
        ctx.step('slow', () => new Promise<void>((resolve) => (finish = resolve))),
        ctx.waitFor(go).then((word) => ctx.step('note', () => void seen.push(word))),
      ])
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await run.signal(go, 'hello')
    await env.settle()
    expect(seen).toEqual(['hello'])
    finish()
    await run.result()
  })

  it('that does not fit its schema is refused by the sender, and set aside if it got in by name', async () => {
    const env = await testEnv({ workflows: [approval] })
    const run = await env.start(approval, undefined)
    await expect(run.signal(approved, { by: 42 } as never)).rejects.toThrow('$.by')
    await run.signal('approved', { by: 42 })
    expect(await run.status()).toBe('waiting')
    expect((await run.history()).find(({ type }) => type === 'signal.rejected')).toMatchObject({
      reason: expect.stringContaining('$.by'),
    })
    await run.signal('approved', { by: 'Grace' })
    expect(await run.result()).toBe('Grace')
  })

  it('is refused once the run has ended', async () => {
    const env = await testEnv({ workflows: [approval] })
    const run = await env.start(approval, undefined)
    await run.result()
    await expect(run.signal(approved, { by: 'late' })).rejects.toThrow('already ended')
    await expect(env.client.signal('nobody', approved, { by: 'x' })).rejects.toThrow("no run 'nobody'")
  })
})

describe('a callback', () => {
  const tokens: string[] = []
  const w = workflow('w', async (ctx) => {
    const { token, promise } = ctx.callback('payment', { timeout: '1d', schema: z.object({ paid: z.number() }) })
    await ctx.step('hand out', () => void tokens.push(token))
    return promise.catch((error: Error) => error.name)
  })

  it('is completed from outside with its token, once', async () => {
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    const token = tokens.at(-1)!
    await env.client.completeCallback(token, { paid: 5 })
    await expect(env.client.completeCallback(token, { paid: 6 })).rejects.toThrow(/has its answer already|ended/)
    expect(await run.result()).toEqual({ paid: 5 })
  })

  it('can be failed from outside', async () => {
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await env.client.failCallback(tokens.at(-1)!, new RangeError('bounced'))
    expect(await run.result()).toBe('RangeError')
  })

  it('rejects with a TimeoutError when it is not settled', async () => {
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe(TimeoutError.name)
  })

  it('accepts no token that the run did not hand out', async () => {
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    const token = tokens.at(-1)!
    const forged = `${token.split('.')[0]}.${'A'.repeat(43)}`
    await expect(env.client.completeCallback(forged, { paid: 1 })).rejects.toThrow('its token was changed on the way')
    await expect(env.client.completeCallback('rubbish')).rejects.toThrow('not a callback token')
    expect(await run.status()).toBe('waiting')
  })

  it('gives the same token on every replay and after a crash', async () => {
    const seen: string[] = []
    const twice = workflow('twice', async (ctx) => {
      const { token, promise } = ctx.callback('c')
      await ctx.step('first', () => void seen.push(token))
      await ctx.sleep('1h')
      await ctx.step('second', () => void seen.push(token))
      return promise
    })
    const env = await testEnv({ workflows: [twice] })
    const run = await env.start(twice, undefined)
    await env.advance('30m')
    await env.restart()
    await env.advance('31m')
    expect(seen[0]).toBe(seen[1])
    await env.client.completeCallback(seen[0]!, 'ok')
    expect(await run.result()).toBe('ok')
  })
})
