import { describe, expect, it } from 'vitest'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { flowControl } from '../../sdk/flow/control.ts'
import { Client, Registry, signal, workflow } from '../../sdk/index.ts'
import type { Commit } from '../../sdk/ports/commit.ts'
import type { RunStore } from '../../sdk/ports/run-store.ts'
import type { World } from '../../sdk/ports/world.ts'
import { seededIds, type testEnv, VirtualClock } from '../../sdk/testing/index.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'

/** The engine on a store whose every commit is seen, driven by hand. */
function byHand(workflows: Parameters<typeof testEnv>[0]['workflows'], intercept: Partial<RunStore> = {}) {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const base = new LocalWorld({ path: ':memory:', clock, ids: seededIds(1), log: () => {} })
  const commits: Commit[] = []
  const store = new Proxy(base.store, {
    get: (target, property) => {
      if (property === 'commit' && !intercept.commit) {
        return (commit: Commit) => {
          commits.push(structuredClone(commit))
          return target.commit(commit)
        }
      }
      const replaced = intercept[property as keyof RunStore]
      const member: unknown = replaced ?? Reflect.get(target, property, target)
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
  const run = (runId: string, owner = 'a') => runOnce(world, registry, runId, { lease: { owner, ms: 30_000 } })
  return {
    clock,
    store: base.store,
    documents: base.documents,
    tasks: base.tasks,
    client: new Client(world, registry),
    run,
    commits,
  }
}

describe('I1 append-once', () => {
  it('a runner that loses a slot stops, and what won the slot stands', async () => {
    let release = () => {}
    const w = workflow('w', async (ctx) => {
      await ctx.step('a', () => 1)
      return ctx.step('slow', () => new Promise<string>((resolve) => (release = () => resolve('mine'))))
    })
    const { client, store, run, clock } = byHand([w])
    await client.start(w, undefined, { id: 'r' })
    const first = run('r')
    await new Promise((resolve) => setImmediate(resolve))
    clock.moveTo(clock.now() + 31_000)
    const claim = (await store.claim('r', { owner: 'b', ms: 30_000 }))!
    const won = { type: 'step.completed' as const, id: 'slow', result: 'theirs' }
    await store.commit({
      runId: 'r',
      epoch: claim.run.epoch,
      frame: { seq: 2, at: clock.now(), epoch: claim.run.epoch, events: [won] },
      next: { kind: 'keep' },
    })
    release()
    expect(await first).toEqual({ status: 'superseded' })
    expect((await store.frames('r'))[1]!.events).toEqual([won])
  })
})

describe('I3 commit before effect', () => {
  it('when a body starts, everything the code has seen is durable', async () => {
    const durableWhen: Record<string, string[]> = {}
    const w = workflow('w', async (ctx) => {
      const note = async (name: string) => {
        durableWhen[name] = (await store.frames('r')).flatMap(({ events }) =>
          events.flatMap((e) => ('id' in e && e.type.endsWith('completed') ? [e.id] : [])),
        )
      }
      await ctx.step('a', () => note('a'))
      await Promise.all([ctx.step('b', () => note('b')), ctx.step('c', () => note('c'))])
      await ctx.waitFor(signal('go'))
      await ctx.step('d', () => note('d'))
    })
    const { client, store, run } = byHand([w])
    await client.start(w, undefined, { id: 'r' })
    await run('r')
    await client.signal('r', 'go')
    await run('r')
    expect(durableWhen).toEqual({ a: [], b: ['a'], c: ['a'], d: ['a', 'b', 'c', 'go'] })
  })

  it('a child starts in the commit that journals it, not before', async () => {
    const child = workflow('child', async () => 1)
    const w = workflow('w', async (ctx) => {
      await ctx.step('a', () => 1)
      return ctx.run(child, undefined)
    })
    const { client, run, commits } = byHand([w, child])
    await client.start(w, undefined, { id: 'r' })
    await run('r')
    const starting = commits.filter(({ outgoing }) => outgoing?.some(({ kind }) => kind === 'start'))
    expect(starting).toHaveLength(1)
    expect(starting[0]!.frame!.events.map(({ type }) => type)).toEqual(['step.completed', 'child.started'])
  })

  it('step → sleep and step → return are one frame each (group commit)', async () => {
    const w = workflow('w', async (ctx) => {
      await ctx.step('a', () => 1)
      await ctx.sleep('nap', '1h')
      return ctx.step('b', () => 2)
    })
    const { client, run, commits, clock } = byHand([w])
    await client.start(w, undefined, { id: 'r' })
    await run('r')
    clock.moveTo(clock.now() + 3_600_000)
    await run('r')
    expect(commits.map(({ frame }) => frame?.events.map(({ type }) => type))).toEqual([
      ['step.completed', 'sleep.started'],
      ['sleep.completed'],
      ['step.completed', 'run.completed'],
    ])
  })
})

describe('I6 no lost wake-up', () => {
  it('a signal that arrives while the run is being suspended is seen at once', async () => {
    const w = workflow('w', async (ctx) => ctx.waitFor(signal<string>('go')))
    let client!: Client
    let sent = false
    const hand = byHand([w], {
      async commit(this: RunStore, commit) {
        if (commit.next.kind === 'suspend' && !sent) {
          sent = true
          await client.signal('r', 'go', 'just in time')
        }
        return this.commit(commit)
      },
    })
    client = hand.client
    await client.start(w, undefined, { id: 'r' })
    expect(await hand.run('r')).toEqual({ status: 'completed' })
    expect(await client.result('r')).toBe('just in time')
  })

  it('a wake-up that meets a live lease leaves its mark', async () => {
    let release = () => {}
    const w = workflow('w', async (ctx) => ctx.step('slow', () => new Promise<void>((resolve) => (release = resolve))))
    const { client, run, store } = byHand([w])
    await client.start(w, undefined, { id: 'r' })
    const first = run('r')
    await new Promise((resolve) => setImmediate(resolve))
    expect(await run('r', 'b')).toEqual({ status: 'skipped' })
    expect((await store.inbox('r')).stimulus).toBe(1)
    release()
    expect(await first).toEqual({ status: 'completed' })
  })
})

describe('a runner near its deadline', () => {
  it('starts no more steps and hands the run on; the next one goes on', async () => {
    const w = workflow('w', async (ctx) => {
      await ctx.step('a', () => 1)
      return ctx.step('b', () => 2)
    })
    const { client, store, documents, tasks, clock } = byHand([w])
    const registry = new Registry([w])
    const world: World = {
      store,
      documents,
      tasks,
      wakeups: { send: async () => {} },
      clock,
      ids: seededIds(2),
      log: () => {},
      inlineWaitMs: -1,
      flow: flowControl,
    }
    await client.start(w, undefined, { id: 'r' })
    const hurried = await runOnce(world, registry, 'r', {
      lease: { owner: 'a', ms: 30_000 },
      deadline: clock.now() + 4_000,
    })
    expect(hurried).toEqual({ status: 'released' })
    expect(
      await runOnce(world, registry, 'r', { lease: { owner: 'b', ms: 30_000 }, deadline: clock.now() + 60_000 }),
    ).toEqual({ status: 'completed' })
  })

  it('does not hand a run on for ever: one that no runner has time for is parked in the end', async () => {
    const w = workflow('w', async (ctx) => {
      await ctx.step('a', () => 1)
      await ctx.sleep('nap', '1h')
      return ctx.step('b', () => 2)
    })
    const { client, store, documents, tasks, clock } = byHand([w])
    const registry = new Registry([w])
    const world: World = {
      store,
      documents,
      tasks,
      wakeups: { send: async () => {} },
      clock,
      ids: seededIds(2),
      log: () => {},
      inlineWaitMs: -1,
      flow: flowControl,
    }
    await client.start(w, undefined, { id: 'r' })
    const visit = (timeMs: number) =>
      runOnce(world, registry, 'r', {
        lease: { owner: 'a', ms: 30_000 },
        deadline: clock.now() + timeMs,
        mostDeaths: 3,
      })
    const hurried = async (times: number) => {
      for (let i = 0; i < times; i++) expect(await visit(4_000)).toEqual({ status: 'released' })
    }
    await hurried(3)
    expect(await visit(60_000)).toEqual({ status: 'stuck' })
    expect((await client.get('r')).error!.message).toMatch(
      /3 times in a row the process that took up run 'r' died, or had no time left/,
    )
    await client.retry('r')
    // Whatever takes the run further begins the count anew.
    await hurried(1)
    expect(await visit(60_000)).toEqual({ status: 'suspended' })
    clock.moveTo(clock.now() + 3_600_000)
    await hurried(2)
    expect(await visit(60_000)).toEqual({ status: 'completed' })
  })

  it('charges a step with a cut-off attempt only if it had most of the time that a runner has', async () => {
    const attempts: string[] = []
    const took = (name: string, ms: number) => async (attempt: number) => {
      attempts.push(`${name} ${attempt}`)
      await new Promise<void>((resolve) => clock.at(clock.now() + ms, resolve))
      return name
    }
    const [long, short] = [took('long', 20_000), took('short', 8_000)]
    const w = workflow('w', async (ctx) => {
      await ctx.step('long', ({ attempt }) => long(attempt), { retry: { attempts: 1 } })
      return ctx.step('short', ({ attempt }) => short(attempt), { retry: { attempts: 1 } })
    })
    const { client, store, documents, tasks, clock } = byHand([w])
    const world: World = {
      store,
      documents,
      tasks,
      wakeups: { send: async () => {} },
      clock,
      ids: seededIds(2),
      log: () => {},
      inlineWaitMs: -1,
      flow: flowControl,
    }
    await client.start(w, undefined, { id: 'r' })
    const run = async () => {
      let outcome: unknown
      void runOnce(world, new Registry([w]), 'r', {
        lease: { owner: 'a', ms: 60_000 },
        deadline: clock.now() + 27_000,
      }).then((is) => {
        outcome = is
      })
      while (outcome === undefined) {
        await new Promise((resolve) => setImmediate(resolve))
        const next = clock.next()
        if (next !== undefined) clock.moveTo(next)
      }
      return outcome
    }
    expect(await run()).toEqual({ status: 'released' })
    expect(await run()).toEqual({ status: 'completed' })
    expect(attempts).toEqual(['long 1', 'short 1', 'short 1'])
  })

  it('does not wait in place for a timer that is close: it has no time for that', async () => {
    const w = workflow('w', async (ctx) => ctx.sleep('nap', 800))
    const { client, store, documents, tasks, clock } = byHand([w])
    let timers = 0
    const counting = {
      now: () => clock.now(),
      at: (time: number, callback: () => void) => {
        if (++timers > 100) throw new Error('it sets timer after timer for a time that has passed')
        return clock.at(time, callback)
      },
    }
    const world: World = {
      store,
      documents,
      tasks,
      wakeups: { send: async () => {} },
      clock: counting,
      ids: seededIds(2),
      log: () => {},
      inlineWaitMs: 1_000,
      flow: flowControl,
    }
    await client.start(w, undefined, { id: 'r' })
    const hurried = await runOnce(world, new Registry([w]), 'r', {
      lease: { owner: 'a', ms: 30_000 },
      deadline: clock.now() + 900,
    })
    expect(hurried).toEqual({ status: 'suspended' })
  })
})
