import { describe, expect, it } from 'vitest'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { workflow } from '../../sdk/index.ts'
import type { RunStore } from '../../sdk/ports/run-store.ts'
import type { LogSink } from '../../sdk/ports/world.ts'
import { deaf, lease, runner, START, turns } from './runner-fixture.ts'

const never = () => new Promise<never>(() => {})

/** Somebody else takes the run just before the runner says what becomes of it. */
function takenBefore(kind: 'keep' | 'suspend' | 'release', store: RunStore): void {
  const { commit } = store
  store.commit = async (said) => {
    if (said.next.kind === kind) await store.terminate('run', 'enough')
    return commit.call(store, said)
  }
}

describe('a runner that has lost its run', () => {
  it('while the code was being looked for starts none of its steps', async () => {
    let runs = 0
    const of = workflow('w', async (ctx) => ctx.step('a', () => ++runs))
    const { world, store } = await runner(of)
    const source = {
      exact: async () => {
        await store.terminate('run', 'enough')
        return of
      },
    }
    expect(await runOnce(world, source as never, 'run', { lease })).toEqual({ status: 'superseded' })
    expect(runs).toBe(0)
  })

  it('tells the code nothing more, not even what a step has just reported', async () => {
    let finish!: () => void
    const told: string[] = []
    const { run, store, clock, world } = await runner(
      workflow('w', async (ctx) => {
        await ctx.step('a', () => new Promise<void>((resolve) => (finish = resolve)))
        told.push('a is over')
      }),
    )
    deaf(world)
    store.renew = async () => {
      finish()
      return undefined
    }
    const outcome = run()
    await turns()
    clock.moveTo(START + 10_000)
    expect(await outcome).toEqual({ status: 'superseded' })
    expect(told).toEqual([])
  })

  it('stops as soon as a heartbeat shows it', async () => {
    let beat!: () => void
    let signal!: AbortSignal
    const { run, store, world } = await runner(
      workflow('w', async (ctx) =>
        ctx.step('a', (tools) => {
          beat = tools.heartbeat
          signal = tools.signal
          return never()
        }),
      ),
    )
    deaf(world)
    const outcome = run()
    await turns()
    await store.terminate('run', 'enough')
    beat()
    expect(await outcome).toEqual({ status: 'superseded' })
    expect(signal.reason).toMatchObject({ message: 'the runner has let go of this run' })
  })

  it('begins none of the steps that follow from what it could not write down', async () => {
    let runs = 0
    const { run, store, events } = await runner(
      workflow('w', async (ctx) => {
        await ctx.step('a', () => 1)
        await ctx.step('b', () => ++runs)
      }),
    )
    takenBefore('keep', store)
    expect(await run()).toEqual({ status: 'superseded' })
    expect([runs, await events()]).toEqual([0, ['run.terminated']])
  })

  it('does not say that it has suspended it', async () => {
    const { run, store } = await runner(workflow('w', async (ctx) => ctx.sleep('1h')))
    takenBefore('suspend', store)
    expect(await run()).toEqual({ status: 'superseded' })
    expect(await store.get('run')).toMatchObject({ status: 'terminated' })
  })

  it('does not say that it has handed it on', async () => {
    const { run, store, sent } = await runner(workflow('w', async (ctx) => ctx.step('a', () => 1)))
    takenBefore('release', store)
    expect(await run({ deadline: START + 1 })).toEqual({ status: 'superseded' })
    expect(sent).toEqual([])
  })
})

describe('a heartbeat that cannot be stored', () => {
  it('is logged, and the step goes on', async () => {
    const logged: Parameters<LogSink>[] = []
    let finish!: (value: number) => void
    const { run, store } = await runner(
      workflow('w', async (ctx) =>
        ctx.step('a', ({ heartbeat }) => {
          heartbeat()
          return new Promise<number>((resolve) => (finish = resolve))
        }),
      ),
      {},
      { log: (...line) => void logged.push(line) },
    )
    store.renew = () => Promise.reject(new Error('the store is down'))
    const outcome = run()
    await turns()
    finish(7)
    expect(await outcome).toEqual({ status: 'completed' })
    expect(logged).toEqual([
      [
        'warn',
        'a sign of life of a step could not be stored; the next one tries again',
        { runId: 'run', error: 'Error: the store is down' },
      ],
    ])
  })
})
