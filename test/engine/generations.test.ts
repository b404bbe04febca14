import { describe, expect, it } from 'vitest'
import { FatalError, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

describe('continueAsNew', () => {
  it('starts over with a new input, an empty journal and the same run id', async () => {
    const keys: string[] = []
    const w = workflow('w', async (ctx, n: number) => {
      await ctx.step('work', ({ idempotencyKey }) => void keys.push(idempotencyKey))
      await ctx.sleep('1h')
      if (n < 3) return ctx.continueAsNew(n + 1)
      return { n, generation: ctx.info.generation }
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, 0, { id: 'loop' })
    expect(await run.result()).toEqual({ n: 3, generation: 3 })
    expect(new Set(keys).size).toBe(4)
    expect((await run.history()).filter(({ type }) => type === 'step.completed')).toHaveLength(1)
    expect((await run.history()).map(({ type }) => type)).toContain('run.continued')
  })

  it('lets time go on from one generation to the next, also for a run that is older than the longest sleep', async () => {
    const seen: number[] = []
    const w = workflow('w', async (ctx, round: number) => {
      seen.push(ctx.now())
      await ctx.sleepUntil('next', ctx.now() + 300 * 86_400_000)
      return round < 2 ? ctx.continueAsNew(round + 1) : ctx.now()
    })
    const env = await testEnv({ workflows: [w] })
    const start = env.now().getTime()
    const run = await env.start(w, 0)
    expect(await run.result()).toBe(start + 900 * 86_400_000)
    expect([...new Set(seen)]).toEqual([0, 300, 600].map((days) => start + days * 86_400_000))
  })

  it('keeps signals that were not consumed yet', async () => {
    const add = signal<number>('add')
    const w = workflow('w', async (ctx, total: number) => {
      const n = await ctx.waitFor(add)
      if (total + n >= 6) return total + n
      return ctx.continueAsNew(total + n)
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, 0)
    for (const n of [1, 2, 3]) await run.signal(add, n)
    expect(await run.result()).toBe(6)
  })
})

describe("a workflow's own retry policy", () => {
  it('runs the whole workflow again, after a durable wait', async () => {
    const w = workflow('w', { retry: { attempts: 3, initial: '1h', factor: 1, jitter: false } }, async (ctx) => {
      await ctx.step('a', () => 1)
      if (ctx.info.attempt < 3) throw new Error(`attempt ${ctx.info.attempt}`)
      return ctx.info.attempt
    })
    const env = await testEnv({ workflows: [w] })
    const start = env.clock.now()
    expect(await (await env.start(w, undefined)).result()).toBe(3)
    expect(env.clock.now() - start).toBe(7_200_000)
  })

  it('lets the next attempt begin when it begins, not when the run did', async () => {
    const seen: number[] = []
    const w = workflow('w', { retry: { attempts: 2, initial: '1h', jitter: false } }, async (ctx) => {
      seen.push(ctx.now())
      await ctx.sleep('1m')
      if (ctx.info.attempt === 1) throw new Error('once')
      return ctx.now()
    })
    const env = await testEnv({ workflows: [w] })
    const start = env.now().getTime()
    expect(await (await env.start(w, undefined)).result()).toBe(start + 3_720_000)
    expect([...new Set(seen)]).toEqual([start, start + 3_660_000])
  })

  it('fails on a FatalError and after its attempts', async () => {
    const fatal = workflow('fatal', { retry: { attempts: 3 } }, async () => {
      throw new FatalError('no')
    })
    const always = workflow('always', { retry: { attempts: 2, initial: '1s' } }, async (ctx) => {
      throw new Error(`attempt ${ctx.info.attempt}`)
    })
    const env = await testEnv({ workflows: [fatal, always] })
    await expect((await env.start(fatal, undefined)).result()).rejects.toThrow('no')
    await expect((await env.start(always, undefined)).result()).rejects.toThrow('attempt 2')
  })
})

describe('what is deterministic', () => {
  it('now, random and uuid give the same on every replay', async () => {
    const seen: string[] = []
    const w = workflow('w', async (ctx) => {
      const line = () => JSON.stringify([ctx.now(), ctx.random(), ctx.uuid()])
      const first = line()
      await ctx.step('a', () => void seen.push(first))
      await ctx.sleep('1h')
      const second = line()
      await ctx.sleep('1h')
      await ctx.step('b', () => void seen.push(first, second))
      return ctx.uuid()
    })
    const env = await testEnv({ workflows: [w] })
    const uuid = await (await env.start(w, undefined)).result()
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(seen[0]).toBe(seen[1])
    expect(seen[1]).not.toBe(seen[2])
  })

  it('logs are silent on replay', async () => {
    const w = workflow('w', async (ctx) => {
      ctx.log.info('begin')
      await ctx.step('a', () => 1)
      ctx.log.info('middle')
      await ctx.sleep('1h')
      await ctx.sleep('1h')
      ctx.log.info('end', { extra: 1 })
    })
    const env = await testEnv({ workflows: [w] })
    await (await env.start(w, undefined)).result()
    expect(env.logs.map(({ message }) => message)).toEqual(['begin', 'middle', 'end'])
    expect(env.logs.at(-1)?.fields).toMatchObject({ extra: 1, workflow: 'w' })
  })

  it('progress is readable from outside while the run goes on', async () => {
    const w = workflow('w', async (ctx) => {
      ctx.progress({ percent: 10 })
      await ctx.sleep('1h')
      ctx.progress({ percent: 60 })
      await ctx.sleep('1h')
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect((await run.get()).progress).toEqual({ percent: 10 })
    await env.advance('1h')
    expect((await run.get()).progress).toEqual({ percent: 60 })
  })

  it('info says where the code runs', async () => {
    const w = workflow('w', { version: 4, tags: ['always'] }, async (ctx) => ctx.info)
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined, { id: 'me', tags: ['vip'] })).result()).toEqual({
      runId: 'me',
      workflow: 'w',
      version: 4,
      tags: ['always', 'vip'],
      attempt: 1,
      generation: 0,
    })
  })
})
