import { describe, expect, it } from 'vitest'
import { ChildRunError, FatalError, RunFailedError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

describe('native promises', () => {
  it('Promise.all runs steps in parallel, and a burst of completions is one frame', async () => {
    const w = workflow(
      'w',
      async (ctx) =>
        (await Promise.all(Array.from({ length: 100 }, (_, i) => ctx.step(`s${i}`, async () => i)))).length,
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.result()).toBe(100)
    expect((await env.store.frames(run.runId)).length).toBeLessThanOrEqual(3)
  })

  it('Promise.race takes the first and drops the rest, on record', async () => {
    const w = workflow('w', async (ctx) =>
      Promise.race([ctx.sleep('slow', '1d').then(() => 'slow'), ctx.sleep('quick', '1h').then(() => 'quick')]),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    const start = env.clock.now()
    expect(await run.result()).toBe('quick')
    expect(env.clock.now() - start).toBe(3_600_000)
    expect((await run.history()).at(-1)).toMatchObject({ type: 'run.completed', abandoned: ['slow'] })
  })

  it('Promise.any, allSettled, loops and try/catch replay the same way', async () => {
    const fail = () => {
      throw new FatalError('no')
    }
    const w = workflow('w', async (ctx) => {
      const any = await Promise.any([ctx.step('bad', fail), ctx.step('good', () => 'good')])
      await ctx.sleep('1h')
      const settled = await Promise.allSettled([ctx.step('bad', fail), ctx.step('fine', () => 1)])
      let caught = 0
      for (const i of [1, 2, 3]) {
        try {
          await ctx.step('loop', () => (i === 2 ? fail() : i))
        } catch {
          caught = i
          await ctx.sleep('2h')
        }
      }
      return { any, settled: settled.map(({ status }) => status), caught }
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toEqual({
      any: 'good',
      settled: ['rejected', 'fulfilled'],
      caught: 2,
    })
  })

  it('a failure that is not awaited does not take the process down', async () => {
    const w = workflow('w', async (ctx) => {
      void ctx.step('ignored', () => {
        throw new FatalError('nobody cares')
      })
      await ctx.sleep('1h')
      return 'fine'
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe('fine')
  })

  it('the same interleaving comes out of every replay, also when branches share a name (I2)', async () => {
    const orders: string[][] = []
    const w = workflow('w', async (ctx) => {
      const order: string[] = []
      const branch = async (name: string, hops: number) => {
        for (let i = 0; i < 3; i++) {
          const n = await ctx.step('shared', () => `${name}${i}`)
          for (let h = 0; h < hops; h++) await null
          order.push(n)
          await ctx.sleep('pause', `${hops + 1}m`)
        }
      }
      await Promise.all([branch('a', 0), branch('b', 3), branch('c', 7)])
      orders.push([...order])
      await ctx.sleep('end', '1h')
      orders.push([...order])
      return order
    })
    const env = await testEnv({ workflows: [w] })
    const order = (await (await env.start(w, undefined)).result()) as string[]
    expect([...order].sort()).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'b2', 'c0', 'c1', 'c2'])
    for (const replayed of orders) expect(replayed).toEqual(order)
  })
})

describe('scope and map', () => {
  it('give operations identities of their own, whatever other branches do', async () => {
    const w = workflow('w', async (ctx) => {
      await Promise.all([
        ctx.scope('left', (c) => c.step('x', () => 1)),
        ctx.scope('right', (c) => c.step('x', () => 2)),
        ctx.step('left/x', () => 3),
      ])
      return 'ok'
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.result()
    expect((await run.history()).flatMap((e) => ('id' in e ? [e.id] : [])).sort()).toEqual([
      'left/x',
      'left~1x',
      'right/x',
    ])
  })

  it('map runs at most so many at once, in order, and survives waits inside', async () => {
    let running = 0
    let most = 0
    const w = workflow('w', async (ctx, items: number[]) =>
      ctx.map(
        'item',
        items,
        async (c, item) => {
          running++
          most = Math.max(most, running)
          const doubled = await c.step('double', () => item * 2)
          running--
          return doubled
        },
        { concurrency: 3 },
      ),
    )
    const env = await testEnv({ workflows: [w] })
    const items = Array.from({ length: 20 }, (_, i) => i)
    expect(await (await env.start(w, items)).result()).toEqual(items.map((n) => n * 2))
    expect(most).toBe(3)
  })

  it('map tolerates as many failures as its option says, and no more', async () => {
    const w = workflow('w', async (ctx, tolerate: number) => {
      const { reason, results } = await ctx.map(
        'item',
        [1, 2, 3, 4],
        (c, n) =>
          c.step('try', () => {
            if (n % 2 === 0) throw new FatalError(`even ${n}`)
            return n
          }),
        { tolerate },
      )
      return [reason, ...results.map(({ status }) => status)]
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, 2)).result()).toEqual(['all', 'fulfilled', 'rejected', 'fulfilled', 'rejected'])
    expect(await (await env.start(w, 1)).result()).toEqual([
      'too many failed',
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
    ])
  })
})

describe('a child run', () => {
  const double = workflow('double', async (ctx, n: number) => {
    await ctx.sleep('think', '1h')
    if (n < 0) throw new FatalError('negative')
    return n * 2
  })

  it('gives its output to the parent, which holds nothing meanwhile', async () => {
    const parent = workflow('parent', async (ctx) => ctx.run(double, 21))
    const env = await testEnv({ workflows: [parent, double] })
    const run = await env.start(parent, undefined, { id: 'p' })
    expect(await run.status()).toBe('waiting')
    expect((await run.get()).waitingFor).toMatchObject([{ kind: 'child', on: 'p.double' }])
    expect(await run.result()).toBe(42)
    expect(await env.client.get('p.double')).toMatchObject({ status: 'completed', parent: { runId: 'p' } })
  })

  it('carries its error, with the cause', async () => {
    const parent = workflow('parent', async (ctx) =>
      ctx.run(double, -1).catch((e: ChildRunError) => ({
        is: e instanceof ChildRunError,
        status: e.status,
        cause: (e.cause as Error).message,
      })),
    )
    const env = await testEnv({ workflows: [parent, double] })
    expect(await (await env.start(parent, undefined)).result()).toEqual({
      is: true,
      status: 'failed',
      cause: 'negative',
    })
  })

  it('may be detached: the parent goes on and ends, the child lives', async () => {
    const parent = workflow('parent', async (ctx) => (await ctx.run(double, 5, { detached: true, id: 'free' })).runId)
    const env = await testEnv({ workflows: [parent, double] })
    expect(await (await env.start(parent, undefined)).result()).toBe('free')
    expect(await env.handle('free').result()).toBe(10)
  })

  it('whose input does not fit fails in the parent without having started', async () => {
    const { object, string } = await import('zod')
    const strict = workflow('strict', { input: object({ name: string() }) }, async () => 1)
    const parent = workflow('parent', async (ctx) =>
      ctx.run(strict, { name: 5 } as never).catch((e: Error) => (e.cause as Error).message),
    )
    const env = await testEnv({ workflows: [parent, strict] })
    expect(await (await env.start(parent, undefined)).result()).toContain('$.name')
    expect((await env.client.list({ workflow: 'strict' })).runs).toEqual([])
  })

  it('that wants the id of another run fails in the parent', async () => {
    const parent = workflow('parent', async (ctx) =>
      ctx.run(double, 1, { id: 'taken' }).catch((e: Error) => (e.cause as Error).name),
    )
    const env = await testEnv({ workflows: [parent, double] })
    await env.start(double, 3, { id: 'taken' })
    expect(await (await env.start(parent, undefined)).result()).toBe('ConflictError')
  })

  it.each([
    ['cancel', 'cancelled'],
    ['terminate', 'terminated'],
    ['abandon', 'completed'],
  ] as const)('with onParentEnd %s is %s when the parent ends first', async (onParentEnd, status) => {
    const parent = workflow('parent', async (ctx) => {
      void ctx.run(double, 1, { id: 'kid', onParentEnd })
      await ctx.sleep('1m')
      return 'gone'
    })
    const env = await testEnv({ workflows: [parent, double] })
    expect(await (await env.start(parent, undefined)).result()).toBe('gone')
    await env
      .handle('kid')
      .result()
      .catch(() => {})
    expect(await env.handle('kid').status()).toBe(status)
  })

  it('is cancelled with its parent', async () => {
    const parent = workflow('parent', async (ctx) => ctx.run(double, 1, { id: 'kid' }))
    const env = await testEnv({ workflows: [parent, double] })
    const run = await env.start(parent, undefined)
    await env.settle()
    await run.cancel()
    await expect(run.result()).rejects.toBeInstanceOf(RunFailedError)
    expect(await run.status()).toBe('cancelled')
    expect(await env.handle('kid').status()).toBe('cancelled')
  })
})
