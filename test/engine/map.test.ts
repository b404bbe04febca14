import { describe, expect, it } from 'vitest'
import { type Context, FatalError, type MapOptions, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

/** An item n takes n minutes; a negative one fails after that. */
const visit = async (c: Context, n: number) => {
  await c.sleep(`${Math.abs(n)}m`)
  return c.step('do', () => {
    if (n < 0) throw new FatalError(`item ${n}`)
    return n * 10
  })
}
const mapping = (options: MapOptions<number> & { need: number }) =>
  workflow('w', async (ctx, items: number[]) => ctx.map('m', items, visit, options))
const outcomeOf = async (items: number[], options: object) => {
  const w = mapping(options as { need: number })
  const env = await testEnv({ workflows: [w] })
  const begun = env.clock.now()
  const run = await env.start(w, items)
  const { results, ...outcome } = await run.result()
  const minutes = (env.clock.now() - begun) / 60_000
  return {
    ...outcome,
    results: results.map((one) => (one.status === 'fulfilled' ? one.value : one.status)),
    minutes,
    history: await run.history(),
  }
}

describe('a map that says what it needs', () => {
  it('ends when so many have succeeded, and takes the others back', async () => {
    const outcome = await outcomeOf([5, 1, 60, 3], { need: 2 })
    expect(outcome).toMatchObject({
      reason: 'enough',
      succeeded: 2,
      failed: 0,
      withdrawn: 2,
      results: ['withdrawn', 10, 'withdrawn', 30],
      minutes: 3,
    })
    expect(outcome.history.find(({ type }) => type === 'decided')).toMatchObject({
      id: 'm/',
      withdrawn: ['m/0/sleep', 'm/2/sleep'],
    })
  })

  it('ends as soon as too few are left', async () => {
    expect(await outcomeOf([-1, -2, 60], { need: 2 })).toMatchObject({
      reason: 'too many failed',
      failed: 2,
      withdrawn: 1,
      minutes: 2,
    })
  })

  it('ends with one failure more than it tolerates, also where that is a share', async () => {
    for (const tolerate of [1, '50%', '66%'] as const) {
      expect(await outcomeOf([-1, -2, 60], { tolerate }), String(tolerate)).toMatchObject({
        reason: 'too many failed',
        failed: 2,
        withdrawn: 1,
        minutes: 2,
      })
    }
    for (const tolerate of [2, '67%', '100%'] as const) {
      expect(await outcomeOf([-1, -2, 60], { tolerate }), String(tolerate)).toMatchObject({
        reason: 'all',
        succeeded: 1,
        failed: 2,
        withdrawn: 0,
        minutes: 60,
      })
    }
  })

  it('begins nothing more once it is decided', async () => {
    const outcome = await outcomeOf([1, 1, 1, 1], { need: 1, concurrency: 1 })
    expect(outcome).toMatchObject({ reason: 'enough', results: [10, 'withdrawn', 'withdrawn', 'withdrawn'] })
    expect(outcome.history.map(({ type }) => type)).not.toContain('decided')
  })

  it('has an outcome of nothing, too', async () => {
    expect(await outcomeOf([], { tolerate: '10%' })).toMatchObject({ reason: 'all', succeeded: 0, results: [] })
  })

  it('has the same outcome after a crash', async () => {
    const w = workflow('w', async (ctx, items: number[]) => {
      const before = await ctx.map('m', items, visit, { need: 2 })
      await ctx.sleep('rest', '1h')
      return before
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, [5, 1, 60, 3])
    await env.advance('30m')
    await env.restart()
    expect((await run.get()).waitingFor).toMatchObject([{ id: 'rest' }])
    expect(await run.result()).toMatchObject({ reason: 'enough', succeeded: 2, withdrawn: 2 })
  })

  it('refuses what makes no sense', async () => {
    for (const [options, why] of [
      [{ need: 0 }, 'need must be a whole number from 1, got 0'],
      [{ tolerate: -1 }, 'tolerate is a number of failures or a share'],
      [{ tolerate: '130%' }, 'tolerate is a number of failures or a share'],
      [{ tolerate: 'few' }, 'tolerate is a number of failures or a share'],
      [{ key: () => 'same' }, "two items have the key 'same'"],
    ] as const) {
      await expect(outcomeOf([1, 2], options)).rejects.toThrow(why)
    }
  })
})

describe('a map that knows its items by key', () => {
  const done: string[] = []
  const over = (items: string[], concurrency = 2) =>
    workflow('w', async (ctx) => {
      const results = await ctx.map(
        'm',
        items,
        async (c, item) => {
          const result = await c.step('do', () => `${item}${done.push(item)}`)
          await c.sleep(item === 'slow' ? '1d' : '1m')
          return result
        },
        { concurrency, key: (item) => item },
      )
      await ctx.sleep('rest', '1d')
      return results
    })
  const deployed = async (before: ReturnType<typeof over>, after: ReturnType<typeof over>) => {
    done.length = 0
    const env = await testEnv({ workflows: [before] })
    const run = await env.start(before, undefined)
    await env.advance('150s')
    await env.restart([after])
    return { env, run }
  }

  it('gives each its own result when they have changed places, and does none again', async () => {
    const { run } = await deployed(over(['a', 'b', 'slow', 'd']), over(['new', 'slow', 'd', 'b', 'a']))
    expect(await run.result()).toEqual(['new5', 'slow3', 'd4', 'b2', 'a1'])
    expect(done).toEqual(['a', 'b', 'slow', 'd', 'new'])
  })

  it('leaves alone what is gone', async () => {
    const { run } = await deployed(over(['a', 'b', 'slow', 'd']), over(['d', 'b']))
    expect(await run.result()).toEqual(['d4', 'b2'])
    expect(done).toEqual(['a', 'b', 'slow', 'd'])
  })

  it('survives the next crash on its new list as well', async () => {
    const { env, run } = await deployed(over(['a', 'b', 'slow'], 1), over(['x', 'y', 'slow', 'b', 'a'], 1))
    await env.advance('36h')
    await env.restart()
    expect(await run.result()).toEqual(['x4', 'y5', 'slow3', 'b2', 'a1'])
  })

  it('still notices code that has changed within an item', async () => {
    const { env, run } = await deployed(
      over(['a', 'b']),
      workflow('w', async (ctx) =>
        ctx.map('m', ['b', 'a'], (c, item) => c.step('other', () => item), { key: (item) => item }),
      ) as never,
    )
    await env.advance('2d')
    expect((await run.get()).status).toBe('stuck')
  })

  it('is not mistaken for one that knows them by their place', async () => {
    for (const [before, after] of [
      [true, false],
      [false, true],
    ]) {
      const version = (isKeyed: boolean) =>
        workflow('w', async (ctx) => {
          await ctx.map('m', ['a', 'b'], (c, item) => c.step('do', () => item), isKeyed ? { key: (item) => item } : {})
          await ctx.sleep('rest', '1d')
        })
      const env = await testEnv({ workflows: [version(before!)] })
      const run = await env.start(version(before!), undefined)
      await env.settle()
      await env.restart([version(after!)])
      await env.advance('2d')
      const { status, error } = await run.get()
      expect({ status, error: error?.message }).toEqual({
        status: 'stuck',
        error: expect.stringContaining("map 'm/' knew its items by"),
      })
    }
  })
})

describe('a map that bears failures', () => {
  it.each([{ tolerate: '100%' } as const, { need: 3 }])(
    'does not take a request to stop for one: %j',
    async (options) => {
      const bought: string[] = []
      const quotes = workflow('quotes', async (ctx) => {
        await ctx.map(
          'supplier',
          ['a', 'b', 'c'],
          (c, id) => c.sleep('their answer', id === 'a' ? '1h' : '3d'),
          options,
        )
        await ctx.step('buy', () => void bought.push('the best'))
      })
      const env = await testEnv({ workflows: [quotes] })
      const run = await env.start(quotes)
      await env.advance('2h')
      await run.cancel('the customer has left')
      expect([await run.status(), bought]).toEqual(['cancelled', []])
    },
  )

  it('nor the timeout of the run', async () => {
    const w = workflow('w', { timeout: '1h' }, async (ctx) => {
      await ctx.map('m', [1, 2], (c) => c.sleep('3d'), { tolerate: '100%' })
      return 'went on'
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w)
    await expect(run.result()).rejects.toThrow('took longer than')
  })

  it('ends at once where its list is too short for what it needs', async () => {
    const w = workflow('w', (ctx) => ctx.map('m', [], (c: Context) => c.sleep('1d'), { need: 1 }))
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w)).result()).toEqual({
      reason: 'too many failed',
      succeeded: 0,
      failed: 0,
      withdrawn: 0,
      results: [],
    })
  })
})

it('two keyed maps of one name do not share results, though items leave the first', async () => {
  let first = ['a', 'b']
  const w = workflow('w', async (ctx) => {
    const one = await ctx.map('m', first, (c, k) => c.step('s', () => `first ${k}`), { key: (k) => k })
    const two = await ctx.map('m', ['b'], (c, k) => c.step('s', () => `second ${k}`), { key: (k) => k })
    await ctx.sleep('1d')
    return { one, two }
  })
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w)
  await run.status()
  first = ['a']
  await env.restart()
  expect(await run.result()).toEqual({ one: ['first a'], two: ['second b'] })
})
