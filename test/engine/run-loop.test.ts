import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Registry, signal, workflow } from '../../sdk/index.ts'
import type { NewRun } from '../../sdk/ports/run.ts'
import { lease, quick, runner, START, turns } from './runner-fixture.ts'

describe('a runner', () => {
  it('has nothing to do for a run that is not due', async () => {
    const { run } = await runner(quick, { wakeAt: START + 5 })
    expect(await run()).toEqual({ status: 'skipped' })
  })

  it('takes a run to its end', async () => {
    const { run, store } = await runner(quick)
    expect(await run()).toEqual({ status: 'completed' })
    expect(await store.get('run')).toMatchObject({ status: 'completed', output: 7 })
  })

  it('hands a run on when it lost nothing but a slot', async () => {
    const two = workflow('w', async (ctx) => {
      await ctx.step('a', () => 1)
      await ctx.sleep('1h')
    })
    const { run, store, sent } = await runner(two)
    const { commit } = store
    let isFirst = true
    store.commit = async (said) => {
      if (!said.frame || !isFirst) return commit.call(store, said)
      isFirst = false
      return { ok: false }
    }
    expect(await run()).toEqual({ status: 'superseded' })
    expect(sent).toEqual([{ runId: 'run', at: START }])
    expect(await run()).toEqual({ status: 'suspended' })
  })

  it('does not hand on what is in other hands', async () => {
    const { run, store, sent, clock, world } = await runner(
      workflow('w', async (ctx) => {
        await ctx.step('a', async () => {
          clock.moveTo(START + 31_000)
          await store.claim('run', { owner: 'rival', ms: 30_000 })
        })
      }),
    )
    expect(world.store).toBe(store)
    expect(await run()).toEqual({ status: 'superseded' })
    expect(sent).toEqual([])
  })

  it('ends a run that was cancelled before it started, without running its code', async () => {
    let runs = 0
    const { run, store, events } = await runner(workflow('w', async () => ++runs))
    await store.deliver('run', { id: 'c', kind: 'cancel' })
    expect(await run()).toEqual({ status: 'cancelled' })
    expect([runs, await events()]).toEqual([0, ['run.cancelled']])
  })

  it('parks a run of which ten runners have died, or as many as its options say', async () => {
    const { run, store, clock } = await runner(quick)
    for (let deaths = 0; deaths < 3; deaths++) {
      await store.claim('run', lease)
      clock.moveTo(clock.now() + 31_000)
    }
    expect(await run({ mostDeaths: 3 })).toEqual({ status: 'stuck' })
    const other = await runner(quick)
    for (let deaths = 0; deaths < 9; deaths++) {
      await other.store.claim('run', lease)
      other.clock.moveTo(other.clock.now() + 31_000)
    }
    await other.store.claim('run', lease)
    other.clock.moveTo(other.clock.now() + 31_000)
    expect(await other.run()).toEqual({ status: 'stuck' })
  })

  it('does not park it one death earlier', async () => {
    const { run, store, clock } = await runner(quick)
    for (let deaths = 0; deaths < 9; deaths++) {
      await store.claim('run', lease)
      clock.moveTo(clock.now() + 31_000)
    }
    expect(await run()).toEqual({ status: 'completed' })
  })

  it('carries through an end that the journal has', async () => {
    const { run, store, clock } = await runner(quick)
    const dead = await store.claim('run', lease)
    const { epoch } = dead!.run
    const event = { type: 'run.completed', output: 8 } as const
    await store.commit({
      runId: 'run',
      epoch,
      frame: { seq: 1, at: START, epoch, events: [event] },
      next: { kind: 'keep' },
    })
    clock.moveTo(START + 31_000)
    expect(await run()).toEqual({ status: 'completed' })
    expect(await store.get('run')).toMatchObject({ output: 8 })
  })

  it('leaves a run whose code it does not have to others, and passes on what is wrong with the source', async () => {
    const { world, store } = await runner(quick)
    const none = new Registry([workflow('other', async () => 1)])
    expect(await runOnce(world, none, 'run', { lease, unknownDelayMs: 50 })).toEqual({ status: 'unknown' })
    expect(await store.get('run')).toMatchObject({ status: 'pending', wakeAt: START + 50 })
    const next = await runner(quick)
    const failing = { exact: async () => Promise.reject(new Error('the store is down')) } as never
    await expect(runOnce(next.world, failing, 'run', { lease })).rejects.toThrow('the store is down')
    const later = await runner(quick)
    expect(await runOnce(later.world, { exact: async () => quick } as never, 'run', { lease })).toEqual({
      status: 'completed',
    })
  })

  it('uses the input as it was parsed, and parses that of format 1', async () => {
    const of = workflow('w', { input: z.object({ n: z.number().default(9) }) }, async (_ctx, { n }) => n)
    const outputOf = async (changes: Partial<NewRun>) => {
      const { run, store } = await runner(of, changes)
      const { status } = await run()
      return [status, (await store.get('run'))?.output]
    }
    expect(await outputOf({ input: {}, parsed: { n: 3 } })).toEqual(['completed', 3])
    expect(await outputOf({ input: { n: 4 } })).toEqual(['completed', 4])
    expect(await outputOf({ input: {}, format: 1 })).toEqual(['completed', 9])
    expect(await outputOf({ input: {}, parsed: { n: 3 }, reparse: true })).toEqual(['completed', 9])
    expect(await outputOf({ input: { n: 'x' }, format: 1 })).toEqual(['stuck', undefined])
  })
})

describe('a runner that waits', () => {
  it('for timers alone leaves its run asleep, and for anything else waiting', async () => {
    const asleep = await runner(workflow('w', async (ctx) => ctx.sleep('1h')))
    expect(await asleep.run()).toEqual({ status: 'suspended' })
    expect(await asleep.store.get('run')).toMatchObject({ status: 'sleeping', wakeAt: START + 3_600_000 })
    expect(asleep.sent).toEqual([{ runId: 'run', at: START + 3_600_000 }])
    const waiting = await runner(
      workflow('w', async (ctx) => Promise.race([ctx.sleep('1h'), ctx.waitFor(signal('go'))])),
    )
    await waiting.run()
    expect(await waiting.store.get('run')).toMatchObject({
      status: 'waiting',
      waitingFor: [{ kind: 'sleep' }, { kind: 'signal' }],
    })
  })

  it('stays for a timer that is close', async () => {
    const { run, clock, events } = await runner(
      workflow('w', async (ctx) => ctx.sleep('1s')),
      {},
      { inlineWaitMs: 1_000 },
    )
    const outcome = run()
    await turns()
    expect(await events()).toEqual(['sleep.started'])
    clock.moveTo(START + 1_000)
    expect(await outcome).toEqual({ status: 'completed' })
  })

  it('renews its lease while a step runs, every third of it, and lets go when it is lost', async () => {
    let signal!: AbortSignal
    const { run, clock, store } = await runner(
      workflow('w', async (ctx) => {
        await ctx.step('a', (tools) => {
          signal = tools.signal
          return new Promise(() => {})
        })
      }),
    )
    const outcome = run()
    await turns()
    for (const at of [10_000, 20_000, 30_000, 40_000]) {
      clock.moveTo(START + at)
      await turns()
    }
    expect(await store.claim('run', { owner: 'rival', ms: 30_000 })).toBeUndefined()
    await store.terminate('run', 'enough')
    await turns()
    expect(await outcome).toEqual({ status: 'superseded' })
    expect(signal.aborted).toBe(true)
  })

  it('hears of what comes in while a step runs', async () => {
    const go = signal<number>('go')
    const { run, store } = await runner(
      workflow('w', async (ctx) => Promise.race([ctx.waitFor(go), ctx.step('a', () => new Promise<number>(() => {}))])),
    )
    const outcome = run()
    await turns()
    await store.deliver('run', { id: 'm', kind: 'signal', name: 'go', payload: 5 })
    expect(await outcome).toEqual({ status: 'completed' })
    expect(await store.get('run')).toMatchObject({ output: 5 })
  })

  it('starts no step in the last five seconds, and waits for none in the last', async () => {
    let runs = 0
    const of = workflow('w', async (ctx) =>
      ctx.step('a', () => {
        runs++
        return new Promise(() => {})
      }),
    )
    const late = await runner(of)
    expect(await late.run({ deadline: START + 5_000 })).toEqual({ status: 'released' })
    expect(runs).toBe(0)
    const { run, clock, events, store } = await runner(of)
    const outcome = run({ deadline: START + 5_001 })
    await turns()
    expect(runs).toBe(1)
    clock.moveTo(START + 4_000)
    await turns()
    expect(await events()).toEqual([])
    clock.moveTo(START + 4_001)
    expect(await outcome).toEqual({ status: 'released' })
    expect(await events()).toEqual(['step.retrying'])
    expect(await store.get('run')).toMatchObject({ status: 'pending' })
  })

  it('shows progress and heartbeats while a step runs', async () => {
    let finish!: (value: number) => void
    const { run, store } = await runner(
      workflow('w', async (ctx) => {
        ctx.progress(40)
        return ctx.step('a', ({ heartbeat }) => {
          heartbeat({ page: 3 })
          return new Promise<number>((resolve) => (finish = resolve))
        })
      }),
    )
    const outcome = run()
    await turns()
    expect(await store.get('run')).toMatchObject({
      progress: 40,
      heartbeat: { step: 'a', at: START, details: { page: 3 } },
    })
    finish(7)
    expect(await outcome).toEqual({ status: 'completed' })
  })

  it('parks a run that waits for nothing of ours', async () => {
    const { run, store } = await runner(workflow('w', async () => new Promise(() => {})))
    expect(await run()).toEqual({ status: 'stuck' })
    expect(await store.get('run')).toMatchObject({ error: { name: 'ForeignAwaitError' } })
  })

  it('tells code where it runs', async () => {
    const { run, store } = await runner(
      workflow(
        'w',
        async (ctx) => ({ ...ctx.info, frozen: Object.isFrozen(ctx.info) && Object.isFrozen(ctx.info.tags) }) as never,
      ),
      { tags: ['vip'] },
    )
    await run()
    expect((await store.get('run'))?.output).toEqual({
      runId: 'run',
      workflow: 'w',
      version: 1,
      tags: ['vip'],
      attempt: 1,
      generation: 0,
      frozen: true,
    })
  })
})
