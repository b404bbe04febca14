import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type Context, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

describe('ctx.patched', () => {
  it('in a loop leaves the rounds that have passed as they were', async () => {
    const bills: number[] = []
    const subscription = (price: (ctx: Context) => number) =>
      workflow('sub', async (ctx) => {
        let total = 0
        for (let month = 1; month <= 4; month++) {
          total += price(ctx)
          await ctx.step('bill', () => void bills.push(total))
          await ctx.sleep('month', '30d')
        }
        return total
      })
    const env = await testEnv({ workflows: [subscription(() => 1)] })
    const run = await env.start(
      subscription(() => 1),
      undefined,
    )
    await run.get()
    await env.restart([subscription((ctx) => (ctx.patched('price') ? 10 : 1))])
    expect(await run.result()).toBe(31)
    expect(bills).toEqual([1, 11, 21, 31])
  })

  it('at two places answers for each as it was when the run came there', async () => {
    const w = (patched: (ctx: Context) => boolean) =>
      workflow('w', async (ctx) => {
        const first = patched(ctx)
        await ctx.sleep('first', '1d')
        const second = patched(ctx)
        if (second) await ctx.step('new', () => 1)
        await ctx.sleep('second', '1d')
        return [first, second, patched(ctx)]
      })
    const env = await testEnv({ workflows: [w(() => false)] })
    const run = await env.start(
      w(() => false),
      undefined,
    )
    await run.get()
    await env.restart([w((ctx) => ctx.patched('p'))])
    await env.advance('25h')
    await env.restart()
    expect(await run.result()).toEqual([false, true, true])
  })
})

describe('an input', () => {
  it('is parsed once: a default that is random or dated stays what it was', async () => {
    let made = 0
    const Input = z.object({ id: z.string().default(() => `made ${++made}`) })
    const w = workflow('w', { input: Input }, async (ctx, { id }) => {
      await ctx.sleep('1d')
      return id
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, {})
    await run.get()
    await env.restart()
    expect(await run.result()).toBe('made 1')
  })

  it('of a child and of the next generation is parsed once, too', async () => {
    let made = 0
    const Input = z.object({ id: z.string().default(() => `made ${++made}`), again: z.boolean().default(false) })
    const kid = workflow('kid', { input: Input }, async (ctx, { id, again }): Promise<unknown> => {
      await ctx.sleep('1d')
      return again ? ctx.continueAsNew({}) : id
    })
    const w = workflow('w', async (ctx) => ctx.run(kid, { again: true }))
    const env = await testEnv({ workflows: [w, kid] })
    const run = await env.start(w, undefined)
    await env.advance('36h')
    await env.restart()
    expect(await run.result()).toBe('made 2')
  })

  it('that its schema turns into what cannot be stored is parsed at every wake', async () => {
    const w = workflow('w', { input: z.object({ day: z.coerce.date() }) }, async (ctx, { day }) => {
      await ctx.sleep('1d')
      return day.toISOString()
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, { day: '2026-02-03' as never })).result()).toBe('2026-02-03T00:00:00.000Z')
  })

  it('that started before the schema changed is not held against the run', async () => {
    const w = (Input: z.ZodType) =>
      workflow('w', { input: Input as z.ZodType<{ n: number }> }, async (ctx, { n }) => {
        await ctx.sleep('1d')
        return n
      })
    const env = await testEnv({ workflows: [w(z.object({ n: z.number() }))] })
    const run = await env.start(w(z.object({ n: z.number() })), { n: 1 })
    await run.get()
    await env.restart([w(z.object({ n: z.number().min(100) }))])
    expect(await run.result()).toBe(1)
  })
})

describe('what a replay sees is what the live run saw', () => {
  it('-0 is -0, live and later', async () => {
    const w = workflow('w', async (ctx) => {
      const x = await ctx.step('x', () => -0)
      const branch = Object.is(x, -0) ? 'minus' : 'plus'
      await ctx.step(branch, () => 1)
      await ctx.sleep('1s')
      return branch
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe('minus')
  })

  it('ctx.uuid() put in between two operations leaves those after the second alone', async () => {
    const drawn: string[][] = []
    const w = (inserted: boolean) =>
      workflow('w', async (ctx) => {
        await ctx.sleep('first', '1d')
        if (inserted) ctx.uuid()
        await ctx.sleep('second', '1d')
        drawn.push([ctx.uuid(), ctx.uuid(), String(ctx.random())])
        await ctx.sleep('third', '1d')
        return 'done'
      })
    const env = await testEnv({ workflows: [w(false)] })
    const run = await env.start(w(false), undefined)
    await env.advance('49h')
    await env.restart([w(true)])
    await run.result()
    expect(drawn.length).toBeGreaterThan(1)
    for (const each of drawn) expect(each).toEqual(drawn[0])
    expect(new Set(drawn[0]).size).toBe(3)
  })
})

describe('a map whose items have changed under it', () => {
  const ship = (items: string[]) =>
    workflow('w', async (ctx: Context) =>
      ctx.map('item', items, async (c, item) => {
        const bought = await c.step('buy', () => item)
        await c.sleep('wait', '1d')
        return c.step('ship', () => `${item} ships ${bought}`)
      }),
    )

  it.each([
    ['inserted', ['salt', 'tea', 'milk']],
    ['reordered', ['milk', 'tea']],
    ['removed', ['tea']],
  ])('is parked instead of mixing up results: %s', async (_what, items) => {
    const env = await testEnv({ workflows: [ship(['tea', 'milk'])] })
    const run = await env.start(ship(['tea', 'milk']), undefined)
    await run.get()
    await env.restart([ship(items)])
    await expect(run.result()).rejects.toThrow("map 'item/' went over 2 items")
    await env.restart([ship(['tea', 'milk'])])
    expect(await run.result()).toEqual(['tea ships tea', 'milk ships milk'])
  })

  it('may have more of them at its end', async () => {
    const env = await testEnv({ workflows: [ship(['tea', 'milk'])] })
    const run = await env.start(ship(['tea', 'milk']), undefined)
    await run.get()
    await env.restart([ship(['tea', 'milk', 'salt'])])
    expect(await run.result()).toEqual(['tea ships tea', 'milk ships milk', 'salt ships salt'])
  })

  it('costs no frame of its own', async () => {
    const w = workflow('w', async (ctx) => ctx.map('square', [1, 2, 3], (c, n) => c.step('multiply', () => n * n)))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.result()
    expect(await env.store.frames(run.runId)).toHaveLength(1)
  })
})

describe('foreign promises', () => {
  it('that win a race park the run instead of ending it', async () => {
    const w = workflow('w', async (ctx) => {
      const foreign = Promise.withResolvers<string>()
      const endsAfterIt = async () => {
        setImmediate(foreign.resolve, 'foreign')
        await foreign.promise
        for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
        return 'slow'
      }
      return Promise.race([ctx.step('slow', endsAfterIt), foreign.promise])
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('awaits something that is not a ctx operation')
    expect(await run.status()).toBe('stuck')
  })
})

describe('waits for the same signal', () => {
  it('the loser of a race does not swallow what comes after it', async () => {
    const paid = signal('paid')
    const w = workflow('w', async (ctx) => {
      for (let day = 1; day <= 5; day++)
        if ((await Promise.race([ctx.waitFor(paid).then(() => 'paid'), ctx.sleep('day', '1d')])) === 'paid')
          return `paid on day ${day}`
      return 'never paid'
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.advance('36h')
    await run.signal(paid, 1)
    expect(await run.result()).toBe('paid on day 2')
  })
})

describe('a signal that no code waits for', () => {
  it('shows in the run, so that a misspelt name can be seen', async () => {
    const w = workflow('w', async (ctx) => ctx.waitFor(signal('approved')))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.signal('aproved', 1)
    await run.signal('aproved', 2)
    expect(await run.get()).toMatchObject({ status: 'waiting', keptSignals: { aproved: 2 } })
  })
})

describe('a map that is called again', () => {
  it('with other items, as a loop over pages does, is another map', async () => {
    const w = workflow('w', async (ctx) => {
      const all: number[] = []
      for (const page of [
        [1, 2],
        [3, 4],
      ]) {
        all.push(...(await ctx.map('page', page, (c, n) => c.step('times ten', () => n * 10))))
        await ctx.sleep('1h')
      }
      return all
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toEqual([10, 20, 30, 40])
  })
})
