import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import {
  Client,
  ConflictError,
  FatalError,
  Registry,
  RunNotFoundError,
  TimeoutError,
  workflow,
} from '../../sdk/index.ts'
import type { Wake, Wakeups, World } from '../../sdk/ports/world.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const nap = workflow('nap', { tags: ['sleepy'] }, async (ctx, n: number) => {
  await ctx.sleep('1h')
  return n
})

describe('start', () => {
  it('with the same id and input gives the first run; with another input it is a conflict', async () => {
    const env = await testEnv({ workflows: [nap] })
    expect(await env.client.start(nap, 1, { id: 'a' })).toMatchObject({ runId: 'a', created: true })
    expect(await env.client.start(nap, 1, { id: 'a' })).toMatchObject({ runId: 'a', created: false })
    await expect(env.client.start(nap, 2, { id: 'a' })).rejects.toBeInstanceOf(ConflictError)
    expect(await env.handle('a').result()).toBe(1)
    expect(await env.client.start(nap, 1, { id: 'a' })).toMatchObject({ status: 'completed', created: false })
  })

  it('repeated after the run has continued as new gives that run: it has another input by now', async () => {
    const count = workflow('count', async (ctx, n: number): Promise<number> => (n === 0 ? 0 : ctx.continueAsNew(n - 1)))
    const env = await testEnv({ workflows: [count] })
    await env.client.start(count, 2, { id: 'c' })
    expect(await env.handle('c').result()).toBe(0)
    expect(await env.client.start(count, 2, { id: 'c' })).toMatchObject({
      runId: 'c',
      created: false,
      status: 'completed',
    })
  })

  it('does not care about the order of keys in the input', async () => {
    const w = workflow('w', async (_ctx, input: object) => input)
    const env = await testEnv({ workflows: [w] })
    await env.client.start(w, { a: 1, b: { c: 1, d: 2 } }, { id: 'x' })
    expect(await env.client.start(w, { b: { d: 2, c: 1 }, a: 1 }, { id: 'x' })).toMatchObject({ created: false })
  })

  it('with the same idempotency key gives the same run', async () => {
    const env = await testEnv({ workflows: [nap] })
    const first = await env.client.start(nap, 1, { idempotencyKey: 'order 42' })
    expect(await env.client.start(nap, 1, { idempotencyKey: 'order 42' })).toMatchObject({
      runId: first.runId,
      created: false,
    })
  })

  it('later: at a time or after a delay', async () => {
    const env = await testEnv({ workflows: [nap] })
    const start = env.clock.now()
    const delayed = await env.start(nap, 1, { delay: '2d' })
    expect(await delayed.get()).toMatchObject({ status: 'pending', wakeAt: start + 172_800_000 })
    expect(await delayed.result()).toBe(1)
    expect((await delayed.get()).startedAt).toBe(start + 172_800_000)
    await expect(env.start(nap, 1, { delay: '1h', startAt: new Date() })).rejects.toThrow('not both')
  })
})

describe('get, list, result, history', () => {
  it('list filters by workflow, status and tag, newest first', async () => {
    const other = workflow('other', async () => 1)
    const env = await testEnv({ workflows: [nap, other] })
    await env.client.start(nap, 1, { id: 'n1' })
    await env.client.start(other, undefined, { id: 'o1', tags: ['x'] })
    await env.client.start(nap, 2, { id: 'n2', tags: ['x'] })
    await env.settle()
    const ids = async (filter: object) => (await env.client.list(filter)).runs.map(({ runId }) => runId)
    expect(await ids({})).toEqual(['n2', 'o1', 'n1'])
    expect(await ids({ workflow: 'nap' })).toEqual(['n2', 'n1'])
    expect(await ids({ tag: 'x' })).toEqual(['n2', 'o1'])
    expect(await ids({ tag: 'sleepy', status: 'sleeping' })).toEqual(['n2', 'n1'])
    expect(await ids({ status: 'completed' })).toEqual(['o1'])
    await expect(env.client.list({ limit: 0 })).rejects.toThrow('1 to 1000')
    await expect(env.client.list({ cursor: 'x; DROP TABLE runs' })).rejects.toThrow('not a cursor')
  })

  it('never show the secret of a run', async () => {
    const env = await testEnv({ workflows: [nap] })
    await env.client.start(nap, 1, { id: 'a' })
    expect(JSON.stringify([await env.client.get('a'), await env.client.list()])).not.toContain('secret')
  })

  it('result says when it takes too long, and the run goes on', async () => {
    const env = await testEnv({ workflows: [nap] })
    const run = await env.start(nap, 1)
    await expect(env.skipUntil(env.client.result(run.runId, { timeout: '1m' }))).rejects.toBeInstanceOf(TimeoutError)
    expect(await run.result()).toBe(1)
  })

  it('say so when there is no such run', async () => {
    const env = await testEnv({ workflows: [nap] })
    for (const attempt of [
      env.client.get('x'),
      env.client.result('x'),
      env.client.history('x'),
      env.client.cancel('x'),
      env.client.retry('x'),
      env.client.wake('x'),
    ]) {
      await expect(attempt).rejects.toBeInstanceOf(RunNotFoundError)
    }
  })
})

describe('retry', () => {
  it('continues a failed run from the step that failed, with everything before it kept', async () => {
    const ran: string[] = []
    let broken = true
    const w = workflow('w', async (ctx) => {
      await ctx.step('a', () => void ran.push('a'))
      await ctx.step('b', () => {
        ran.push('b')
        if (broken) throw new FatalError('broken')
      })
      await ctx.step('c', () => void ran.push('c'))
      return 'done'
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('broken')
    broken = false
    await env.client.retry(run.runId)
    expect(await run.result()).toBe('done')
    expect(ran).toEqual(['a', 'b', 'b', 'c'])
    await expect(env.client.retry(run.runId)).rejects.toThrow('only a failed or stuck run')
  })

  it('forgets what followed from the failure, keeps what ran beside it, and replays the same ever after', async () => {
    const ran: string[] = []
    let broken = true
    const w = workflow('w', async (ctx) => {
      const beside = ctx.scope('beside', async (c) => {
        await c.step('one', () => void ran.push('one'))
        await c.sleep('5m')
        return c.step('two', () => void ran.push('two'))
      })
      try {
        await ctx.sleep('1m')
        await ctx.step('b', () => {
          if (broken) throw new FatalError('broken')
          ran.push('b')
        })
      } catch (error) {
        await ctx.step('tell the boss', () => void ran.push('told'))
        await ctx.sleep('wait for beside', '10m')
        throw error
      }
      await ctx.sleep('after', '1h')
      await beside
      return ran.length
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('broken')
    expect(ran).toEqual(['one', 'told', 'two'])
    broken = false
    await env.client.retry(run.runId)
    await env.settle()
    await env.restart()
    expect(await run.result()).toBe(4)
    expect(ran).toEqual(['one', 'told', 'two', 'b'])
  })

  it('can be used again and again', async () => {
    let fails = 3
    const w = workflow('w', async (ctx) =>
      ctx.step('b', () => (fails-- > 0 ? Promise.reject(new FatalError(`fails ${fails}`)) : 'ok')),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    for (const left of [2, 1, 0]) {
      await expect(run.result()).rejects.toThrow(`fails ${left}`)
      await env.client.retry(run.runId)
    }
    expect(await run.result()).toBe('ok')
  })
})

describe('a run that a client waits for', () => {
  const hello = workflow('hello', async (ctx) => ctx.step('say', () => 'hello'))

  /** A world in which a runner can be called. */
  async function open(handOver: (world: World, runId: string, registry: Registry) => Promise<void>) {
    const { world } = (await testEnv({ workflows: [] })).client
    const registry = new Registry([hello])
    const sent: Wake[] = []
    const handed: string[] = []
    const wakeups: Wakeups = {
      send: async (wakes) => void sent.push(...wakes),
      handOver: async ({ runId }) => {
        handed.push(runId)
        await handOver(world, runId, registry)
      },
    }
    const { store, documents, tasks, clock, ids, log, inlineWaitMs, flow } = world
    const calling: World = { store, documents, tasks, clock, ids, log, inlineWaitMs, flow, wakeups }
    return { client: new Client(calling, registry), sent, handed, now: world.clock.now() }
  }
  const take = async (world: World, runId: string, registry: Registry) =>
    void (await runOnce(world, registry, runId, { lease: { owner: 'o', ms: 30_000 } }))

  it('is handed straight to a runner, and the queue has its word on it a little later', async () => {
    const { client, sent, handed, now } = await open(take)
    const { run, created } = await client.startAndSettle(hello, undefined, { id: 'r', timeout: '20s' })
    expect([run.status, run.output, created]).toEqual(['completed', 'hello', true])
    expect(handed).toEqual(['r'])
    expect(sent).toEqual([{ runId: 'r', at: now + 5_000 }])
  })

  it('is answered when it has ended, also if the runner that was called never answers', async () => {
    const { client } = await open(async (world, runId, registry) => {
      await take(world, runId, registry)
      await new Promise(() => {})
    })
    expect((await client.startAndSettle(hello, undefined, { timeout: '20s' })).run.status).toBe('completed')
  })

  it('goes through the queue at once when no runner can take it', async () => {
    const { client, sent, now } = await open(async () => {
      throw new Error('429 too many requests')
    })
    void client.startAndSettle(hello, undefined, { id: 'r', timeout: '20s' })
    await vi.waitFor(() => expect(sent).toHaveLength(2))
    expect(sent).toEqual([
      { runId: 'r', at: now + 5_000 },
      { runId: 'r', at: now },
    ])
  })

  it('goes through the wake-up queue when no client waits, when it starts later, and when it was started before', async () => {
    const { client, sent, handed } = await open(take)
    await client.start(hello, undefined, { id: 'a' })
    void client.startAndSettle(hello, undefined, { id: 'b', delay: '1h', timeout: '1s' })
    await vi.waitFor(() => expect(sent.map(({ runId }) => runId)).toEqual(['a', 'b']))
    void client.startAndSettle(hello, undefined, { id: 'a', timeout: '1s' })
    await new Promise((resolve) => setImmediate(resolve))
    expect(handed).toEqual([])
  })
})

describe('erase', () => {
  it('of a run with a long journal leaves none of it to the next run', async () => {
    const many = workflow('many', async (ctx, n: number) => {
      for (let i = 0; i < n; i++) {
        await ctx.step(`s${i}`, () => 'old')
        await ctx.sleep(`w${i}`, '1h')
      }
      return ctx.step('last', () => n)
    })
    const env = await testEnv({ workflows: [many] })
    expect(await (await env.start(many, 100)).result()).toBe(100)
    const { runId: id } = (await env.client.list()).runs[0]!
    await env.client.erase(id)
    await expect(env.client.get(id)).rejects.toBeInstanceOf(RunNotFoundError)
    const next = await env.start(many, 3)
    expect(await next.result()).toBe(3)
    expect(await next.history()).toHaveLength(12)
  })

  it('takes the tasks of earlier generations along', async () => {
    const twice = workflow('twice', async (ctx, n: number): Promise<unknown> => {
      if (n === 0) return 'done'
      await ctx.task('chore', { secret: n })
      return ctx.continueAsNew(n - 1)
    })
    const env = await testEnv({ workflows: [twice] })
    env.worker('chore', async () => 'did it')
    const run = await env.start(twice, 1)
    expect(await run.result()).toBe('done')
    const { tasks } = env.client.world
    expect(await tasks.get(`${run.runId}.chore`)).toMatchObject({ state: 'settled', generation: 0 })
    await env.client.erase(run.runId)
    expect(await tasks.get(`${run.runId}.chore`)).toBeUndefined()
  })

  it('is refused for a run that is open or unknown', async () => {
    const env = await testEnv({ workflows: [nap] })
    const run = await env.start(nap, 1)
    await expect(env.client.erase(run.runId)).rejects.toThrow(/has not ended; cancel or terminate it first/)
    await expect(env.client.erase('nobody')).rejects.toBeInstanceOf(RunNotFoundError)
    expect(await run.result()).toBe(1)
  })
})

describe('tags', () => {
  const order = workflow(
    'order',
    { tags: ({ customer }: { customer: number }) => [`customer:${customer}`, 'order'] },
    async (_ctx, { customer }) => customer,
  )

  it('made of the input find a run by what its caller knows', async () => {
    const parent = workflow('parent', async (ctx) => ctx.run(order, { customer: 7 }))
    const env = await testEnv({ workflows: [order, parent] })
    await env.client.start(order, { customer: 42 }, { id: 'o-42', tags: ['rush'] })
    await env.client.start(order, { customer: 43 }, { id: 'o-43' })
    await (await env.start(parent, undefined)).result()
    const tagged = async (tag: string) => (await env.client.list({ tag })).runs.map(({ runId }) => runId)
    expect(await tagged('customer:42')).toEqual(['o-42'])
    expect(await tagged('rush')).toEqual(['o-42'])
    expect(await tagged('customer:7')).toHaveLength(1)
    expect((await env.client.get('o-42')).tags).toEqual(['customer:42', 'order', 'rush'])
  })

  it('see the input as the schema makes it', async () => {
    const w = workflow(
      'w',
      { input: z.object({ at: z.coerce.date() }), tags: ({ at }) => [`year:${at.getFullYear()}`] },
      async () => {},
    )
    const env = await testEnv({ workflows: [w] })
    await env.client.start(w, { at: '2026-05-05T12:00:00Z' } as never, { id: 'a' })
    expect((await env.client.get('a')).tags).toEqual(['year:2026'])
  })

  it.each([
    ['throw', () => JSON.parse('{'), /tags of workflow 'bad' could not be made of this input/],
    ['are no array', () => 'customer', /must be an array of strings; the function gave string/],
    ['are no names', () => [7], /a tag of workflow 'bad' must be a string/],
    ['are too many', () => Array.from({ length: 51 }, (_, i) => `t${i}`), /would have 51 tags; 50 are the most/],
  ])('that %s refuse the start, and nothing is written', async (_, tags, refusal) => {
    const bad = workflow('bad', { tags: tags as () => string[] }, async () => {})
    const env = await testEnv({ workflows: [bad] })
    await expect(env.client.start(bad, undefined, { id: 'x' })).rejects.toThrow(refusal)
    expect((await env.client.list()).runs).toEqual([])
  })
})

describe('rerun', () => {
  it('makes a new run that shares the journal up to a step', async () => {
    const ran: string[] = []
    const w = workflow('w', async (ctx) => {
      const a = await ctx.step('a', () => ran.push('a'))
      await ctx.sleep('1h')
      const b = await ctx.step('b', () => ran.push('b'))
      return [a, b]
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.result()).toEqual([1, 2])
    const again = await env.client.rerun(run.runId, { from: 'b' })
    expect(again.runId).not.toBe(run.runId)
    expect(await env.handle(again.runId).result()).toEqual([1, 3])
    expect(ran).toEqual(['a', 'b', 'b'])
    expect(await run.result()).toEqual([1, 2])
    await expect(env.client.rerun(run.runId, { from: 'nope' })).rejects.toThrow(
      "no step 'nope' in its history; it has: a, b",
    )
  })

  it('draws the numbers that the first run drew, because the results it takes over were made with them', async () => {
    const w = workflow('w', async (ctx) => {
      const id = ctx.uuid()
      const made = await ctx.step('make', () => id)
      return { id, made, paid: await ctx.step('pay', () => id) }
    })
    const env = await testEnv({ workflows: [w] })
    const first = await env.start(w, undefined)
    const { id } = await first.result()
    const second = env.handle((await env.client.rerun(first.runId, { from: 'pay' })).runId)
    expect(await second.result()).toEqual({ id, made: id, paid: id })
    const third = env.handle((await env.client.rerun(second.runId, { from: 'pay' })).runId)
    expect(await third.result()).toEqual({ id, made: id, paid: id })
    expect((await third.history())[1]).toMatchObject({ type: 'run.rerun', of: first.runId, from: 'pay' })
  })

  it('opens its own waits instead of inheriting those of the old run', async () => {
    const w = workflow('w', async (ctx) =>
      Promise.race([
        ctx.sleep('deadline', '1h').then(() => 'late'),
        ctx.sleep('work', '10m').then(() => ctx.step('b', () => 'done')),
      ]),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.result()).toBe('done')
    await env.advance('3d')
    const again = await env.client.rerun(run.runId, { from: 'b' })
    expect(await env.handle(again.runId).result()).toBe('done')
  })
})
