import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkRunId, childRunId, escapeName, FORMAT, idempotencyKey, taskId } from '../../sdk/base/names.ts'
import { signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const name = fc.string({
  minLength: 1,
  maxLength: 12,
  unit: fc.constantFrom('a', 'b', 'g', '1', '.', '/', ':', '~', '-', 'é'),
})
const runId = fc
  .string({ minLength: 1, maxLength: 12, unit: fc.constantFrom('a', 'b', '1', '.', ':', '~', '-') })
  .map((id) => `r${id}`)
const operation = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.map(escapeName).join('/'))
const call = fc.record({ id: runId, generation: fc.nat(2), op: operation })

const isSame = (a: { id: string; generation: number; op: string }, b: typeof a) =>
  a.id === b.id && a.generation === b.generation && a.op === b.op

describe('an identity belongs to one thing', () => {
  it('idempotency keys: no two operations of any runs or generations share one', () => {
    const key = ({ op, ...run }: { id: string; generation: number; op: string }) =>
      idempotencyKey({ ...run, format: FORMAT }, op)
    fc.assert(
      fc.property(call, call, (a, b) => isSame(a, b) || key(a) !== key(b)),
      { numRuns: 5_000 },
    )
  })

  it('task ids: no two operations share one, whatever dots are in run and step', () => {
    const id = ({ id, op }: { id: string; op: string }) => taskId({ id, format: FORMAT }, op)
    fc.assert(
      fc.property(call, call, (a, b) => (a.id === b.id && a.op === b.op) || id(a) !== id(b)),
      { numRuns: 5_000 },
    )
    expect(taskId({ id: 'order-1', format: FORMAT }, 'pay.charge')).toBe('order-1.pay.charge')
  })

  it('child run ids: no two calls of one run share one, generations and rounds included, and all are valid', () => {
    const rounds = fc.nat(2)
    const child = ({ op, ...run }: { id: string; generation: number; op: string }, round: number) =>
      childRunId({ ...run, format: FORMAT }, op, round)
    fc.assert(
      fc.property(call, call, rounds, rounds, (a, b, x, y) => {
        const [one, other] = [child(a, x), child({ ...b, id: a.id }, y)]
        checkRunId(one)
        return (isSame(a, { ...b, id: a.id }) && x === y) || one !== other
      }),
      { numRuns: 5_000 },
    )
  })

  it('a grandchild and a child of another name do not share a run', async () => {
    const c = workflow('c', async () => 'c')
    const b = workflow('b', async (ctx) => ctx.run(c, undefined))
    const bc = workflow('b.c', async () => 'b.c')
    const parent = workflow('p', async (ctx) => [await ctx.run(b, undefined), await ctx.run(bc, undefined)])
    const env = await testEnv({ workflows: [parent, b, c, bc] })
    expect(await (await env.start(parent, undefined, { id: 'a' })).result()).toEqual(['c', 'b.c'])
  })

  it('runs of format 1 keep the identities they began with', () => {
    const old = { id: 'r', format: 1, generation: 1 }
    expect(idempotencyKey(old, 'charge')).toBe('r/g1/charge')
    expect(childRunId(old, 'b.c')).toBe('r.g1.b.c')
    expect(taskId({ ...old, id: 'a.b' }, 'c')).toBe('a.b.c')
  })
})

describe('a child with an id of its own', () => {
  it('asked for again by the next generation gives its result again', async () => {
    const kid = workflow('kid', async () => 'paid')
    const w = workflow('w', { retry: { attempts: 3, initial: 50 } }, async (ctx) => {
      const paid = await ctx.run(kid, undefined, { id: 'payment-5' })
      if (ctx.info.attempt === 1) throw new Error('the shop is down')
      return `${paid} in attempt ${ctx.info.attempt}`
    })
    const env = await testEnv({ workflows: [w, kid] })
    expect(await (await env.start(w, undefined)).result()).toBe('paid in attempt 2')
  })

  it('that still runs answers to the generation that asks now', async () => {
    const kid = workflow('kid', async (ctx) => {
      await ctx.sleep('1h')
      return 'late'
    })
    const w = workflow('w', async (ctx, round: number): Promise<unknown> => {
      if (round === 0) {
        void ctx.run(kid, undefined, { id: 'kid-1', onParentEnd: 'abandon' })
        await ctx.sleep('1m')
        return ctx.continueAsNew(1)
      }
      return ctx.run(kid, undefined, { id: 'kid-1' })
    })
    const env = await testEnv({ workflows: [w, kid] })
    expect(await (await env.start(w, 0)).result()).toBe('late')
  })

  it('is a conflict for another call of the same generation, and for another input', async () => {
    const kid = workflow('kid', async (ctx, n: number) => {
      await ctx.sleep('1h')
      return n
    })
    const twice = workflow('twice', async (ctx) =>
      Promise.all([ctx.run(kid, 1, { id: 'kid-1' }), ctx.run(kid, 1, { id: 'kid-1' })]),
    )
    const other = workflow('other', async (ctx, n: number): Promise<unknown> => {
      if (n === 2) return ctx.run(kid, n, { id: 'kid-2' })
      void ctx.run(kid, n, { id: 'kid-2', onParentEnd: 'abandon' })
      await ctx.sleep('1m')
      return ctx.continueAsNew(n + 1)
    })
    const env = await testEnv({ workflows: [twice, other, kid] })
    await expect((await env.start(twice, undefined)).result()).rejects.toThrow('belongs to another run')
    await expect((await env.start(other, 1)).result()).rejects.toThrow('belongs to another run')
  })

  it('changed by a deployment is reported, and the journaled one stands', async () => {
    const kid = workflow('kid', async (ctx) => {
      await ctx.sleep('1h')
      return 'kid'
    })
    const parent = (id: string, input?: string) => workflow('w', async (ctx) => ctx.run(kid, input, { id }))
    const env = await testEnv({ workflows: [parent('kid-1'), kid] })
    const run = await env.start(parent('kid-1'), undefined)
    await run.get()
    await env.restart([parent('kid-2', 'changed'), kid])
    expect(await run.result()).toBe('kid')
    expect(await run.history()).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ type: 'changed', field: 'id', now: 'kid-2' }),
        expect.objectContaining({ type: 'changed', field: 'input' }),
      ]),
    )
  })
})

describe('the key of a signal', () => {
  it('is remembered when the run continues as new', async () => {
    const paid = signal<number>('paid')
    const w = workflow('w', async (ctx, sum: number): Promise<unknown> => {
      const cents = await ctx.waitFor(paid, { timeout: '2d' })
      return cents === undefined ? sum : ctx.continueAsNew(sum + cents)
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, 0)
    expect(await run.signal(paid, 100, { idempotencyKey: 'payment-1' })).toEqual({ accepted: true })
    await env.advance('1d')
    expect(await run.signal(paid, 100, { idempotencyKey: 'payment-1' })).toEqual({ accepted: false })
    expect(await run.result()).toBe(100)
  })
})

describe('a run whose id was used before', () => {
  it('hands out its tasks, whatever became of the tasks of the earlier one', async () => {
    const w = workflow('w', { retention: '1h' }, async (ctx) => ctx.task('chore', 1))
    const env = await testEnv({ workflows: [w] })
    env.worker('chore', async ({ input }) => (input as number) + 1)
    expect(await (await env.start(w, undefined, { id: 'r' })).result()).toBe(2)
    await env.advance('2h')
    expect(await (await env.start(w, undefined, { id: 'r' })).result()).toBe(2)
  })
})
