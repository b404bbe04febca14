import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { flowControl } from '../../sdk/flow/control.ts'
import { type AnyWorkflow, Client, Registry, signal, workflow } from '../../sdk/index.ts'
import type { RunStore } from '../../sdk/ports/run-store.ts'
import type { World } from '../../sdk/ports/world.ts'
import { seededIds, testEnv, VirtualClock } from '../../sdk/testing/index.ts'
import { mortalStore } from '../../sdk/testing/mortal-store.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'

/** A world without transactions: a commit may have got as far as its frame and no further. */
function halfCommitting(workflows: AnyWorkflow[], dieAfterFrame: (type: string) => boolean, deaths = 1) {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const base = new LocalWorld({ path: ':memory:', clock, ids: seededIds(1), log: () => {} })
  let deathsLeft = deaths
  const store = new Proxy(base.store, {
    get: (target, property) => {
      const member: unknown = Reflect.get(target, property, target)
      if (property === 'commit') {
        return async (commit: Parameters<RunStore['commit']>[0]) => {
          if (deathsLeft === 0 || !commit.frame?.events.some(({ type }) => dieAfterFrame(type)))
            return target.commit(commit)
          deathsLeft--
          await target.commit({ runId: commit.runId, epoch: commit.epoch, frame: commit.frame, next: { kind: 'keep' } })
          throw new Error('the process died')
        }
      }
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const world: World = {
    store,
    documents: base.documents,
    tasks: base.tasks,
    wakeups: base.wakeups,
    clock,
    ids: base.ids,
    log: base.log,
    inlineWaitMs: -1,
    flow: flowControl,
  }
  const registry = new Registry(workflows)
  const run = (runId: string) => runOnce(world, registry, runId, { lease: { owner: 'x', ms: 30_000 } })
  return {
    clock,
    store: base.store,
    documents: base.documents,
    tasks: base.tasks,
    world,
    registry,
    client: new Client(world, registry),
    run,
  }
}

describe('a runner that died between its frame and the rest of the commit', () => {
  it('is finished by the next one: the end stands and the parent hears of it', async () => {
    const child = workflow('child', async () => 'done')
    const parent = workflow('parent', async (ctx) => ctx.run(child, undefined))
    const { client, clock, run } = halfCommitting([parent, child], (type) => type === 'run.completed')
    await client.start(parent, undefined, { id: 'p' })
    await run('p')
    await expect(run('p.child')).rejects.toThrow('died')
    clock.moveTo(clock.now() + 31_000)
    expect(await run('p.child')).toEqual({ status: 'completed' })
    expect((await client.history('p.child')).map(({ type }) => type)).toEqual(['run.started', 'run.completed'])
    expect(await run('p')).toEqual({ status: 'completed' })
    expect(await client.result('p')).toBe('done')
  })

  it('has announced a child that begins with its input as the schema makes it', async () => {
    const child = workflow(
      'child',
      { input: z.object({ size: z.number().default(7) }) },
      async (_ctx, { size }) => size,
    )
    const parent = workflow('parent', async (ctx) => ctx.run(child, {}))
    const { client, clock, run } = halfCommitting([parent, child], (type) => type === 'child.started')
    await client.start(parent, undefined, { id: 'p' })
    await expect(run('p')).rejects.toThrow('died')
    clock.moveTo(clock.now() + 31_000)
    await run('p')
    await run('p.child')
    await run('p')
    expect(await client.result('p')).toBe(7)
  })

  it('has announced a child that the next one starts', async () => {
    const child = workflow('child', async () => 'born')
    const parent = workflow('parent', async (ctx) => ctx.run(child, undefined))
    const { client, clock, run, store } = halfCommitting([parent, child], (type) => type === 'child.started')
    await client.start(parent, undefined, { id: 'p' })
    await expect(run('p')).rejects.toThrow('died')
    expect(await store.get('p.child')).toBeUndefined()
    clock.moveTo(clock.now() + 31_000)
    await run('p')
    await run('p.child')
    expect(await run('p')).toEqual({ status: 'completed' })
  })

  it('has announced a child that is started also if the next one dies in the same place, one frame later', async () => {
    const tick = signal<number>('tick')
    const child = workflow('child', async () => 'born')
    const parent = workflow('parent', async (ctx) => Promise.all([ctx.run(child, undefined), ctx.waitFor(tick)]))
    const { client, clock, run, store } = halfCommitting([parent, child], () => true, 2)
    await client.start(parent, undefined, { id: 'p' })
    await expect(run('p')).rejects.toThrow('died')
    await client.signal('p', tick, 1)
    clock.moveTo(clock.now() + 31_000)
    await expect(run('p')).rejects.toThrow('died')
    clock.moveTo(clock.now() + 31_000)
    await run('p')
    expect(await store.get('p.child')).toMatchObject({ workflow: 'child', parent: { runId: 'p', op: 'child' } })
  })

  it('has consumed a signal, and the next one does not consume it again', async () => {
    const tick = signal<number>('tick')
    const w = workflow('w', async (ctx) => {
      const first = await ctx.waitFor(tick)
      await ctx.step('between', () => 1)
      return [first, (await ctx.waitFor(tick, { timeout: '1h' })) ?? 'none']
    })
    const { client, clock, run } = halfCommitting([w], (type) => type === 'wait.completed')
    await client.start(w, undefined, { id: 'r' })
    await client.signal('r', tick, 1)
    await expect(run('r')).rejects.toThrow('died')
    clock.moveTo(clock.now() + 31_000)
    await run('r')
    clock.moveTo(clock.now() + 3_600_000)
    await run('r')
    expect(await client.result('r')).toEqual([1, 'none'])
  })
})

describe('journal time', () => {
  it('is exact for every event of a frame', async () => {
    let isFirst = true
    const w = workflow('w', async (ctx) => {
      const times: number[] = []
      const noteTime = () => {
        times.push(ctx.now())
        // Time passes while the code is being told of the first of two results that came in together.
        if (isFirst) env.clock.moveTo(env.clock.now() + 7)
        isFirst = false
      }
      await Promise.all([ctx.step('a', () => 1).then(noteTime), ctx.step('b', () => 2).then(noteTime)])
      await ctx.sleep('1h')
      return times
    })
    const env = await testEnv({ workflows: [w] })
    const start = env.clock.now()
    const run = await env.start(w, undefined)
    expect(await run.result()).toEqual([start, start + 7])
    expect((await run.history()).filter(({ type }) => type === 'step.completed').map(({ at }) => at)).toEqual([
      start,
      start + 7,
    ])
    expect((await env.store.frames(run.runId))[0]!.events).toHaveLength(3)
  })

  it('never runs backwards, though the clock of the next runner may be behind', async () => {
    const w = workflow('w', async (ctx) => {
      await ctx.step('a', () => 1)
      const before = ctx.now()
      await ctx.waitFor(signal('go'))
      return ctx.now() - before
    })
    const { client, store, documents, tasks, clock, run } = halfCommitting([w], () => false)
    await client.start(w, undefined, { id: 'r' })
    await run('r')
    await client.signal('r', 'go')
    const behind: World = {
      store,
      documents,
      tasks,
      wakeups: { send: async () => {} },
      clock: { now: () => clock.now() - 5_000, at: (time, callback) => clock.at(time, callback) },
      ids: seededIds(2),
      log: () => {},
      inlineWaitMs: -1,
      flow: flowControl,
    }
    await runOnce(behind, new Registry([w]), 'r', { lease: { owner: 'y', ms: 30_000 } })
    expect(await client.result('r')).toBe(0)
  })
})

describe('long journals', () => {
  it('are replayed from memory without anything a replay did to its results', async () => {
    const w = workflow('w', async (ctx) => {
      let seen = 0
      for (let i = 0; i < 100; i++) {
        const box = await ctx.step(`s${i}`, () => ({ items: [1] }))
        box.items.push(2)
        seen += box.items.length
        await ctx.sleep('1m')
      }
      return seen
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe(200)
  })
})

describe('children of an earlier generation', () => {
  it('cannot settle a child of the same name in this one', async () => {
    const slow = workflow('slow', async (ctx, n: number) => {
      await ctx.sleep('1h')
      return n
    })
    const w = workflow('w', async (ctx, round: number): Promise<unknown> => {
      if (round === 1) {
        await Promise.race([ctx.run(slow, 1, { onParentEnd: 'abandon' }), ctx.sleep('30m')])
        return ctx.continueAsNew(2)
      }
      return ctx.run(slow, 2)
    })
    const env = await testEnv({ workflows: [w, slow] })
    expect(await (await env.start(w, 1)).result()).toBe(2)
  })
})

describe('a run that kills its runners', () => {
  it('is parked after some of them, is not touched while it is, and goes on once it is mended', async () => {
    let isDeadly = true
    let entered = 0
    const w = workflow('w', async (ctx) => {
      await ctx.step('before', () => 1)
      return ctx.step('deadly', () => {
        entered++
        // A process that dies does not come back to say so.
        return isDeadly ? new Promise<never>(() => {}) : 'alive'
      })
    })
    const { client, clock, world, registry } = halfCommitting([w], () => false)
    await client.start(w, undefined, { id: 'r' })
    const die = async () => {
      const { store, die: kill } = mortalStore(world.store)
      void runOnce({ ...world, store }, registry, 'r', { lease: { owner: 'x', ms: 30_000 }, mostDeaths: 3 })
      await new Promise((resolve) => setImmediate(resolve))
      kill()
      clock.moveTo(clock.now() + 31_000)
    }
    for (let i = 0; i < 4; i++) await die()
    const outcome = await runOnce(world, registry, 'r', { lease: { owner: 'x', ms: 30_000 }, mostDeaths: 3 })
    expect(outcome).toEqual({ status: 'stuck' })
    expect(entered).toBe(4)
    expect((await client.get('r')).error?.message).toMatch(/3 times in a row the process that took up run 'r' died/)
    isDeadly = false
    await client.retry('r')
    expect(await runOnce(world, registry, 'r', { lease: { owner: 'x', ms: 30_000 }, mostDeaths: 3 })).toEqual({
      status: 'completed',
    })
  })
})
