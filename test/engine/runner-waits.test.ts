import { describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { lease, runner, START, turns } from './runner-fixture.ts'

describe('a runner that waits', () => {
  it('for the next attempt of a step, or for the end of its pause, leaves the run asleep', async () => {
    const fails = () => {
      throw new Error('busy')
    }
    const retried = await runner(workflow('w', async (ctx) => ctx.step('a', fails, { retry: { initial: '1h' } })))
    expect(await retried.run()).toEqual({ status: 'suspended' })
    expect(await retried.store.get('run')).toMatchObject({ status: 'sleeping', waitingFor: [{ kind: 'retry' }] })
    const paused = await runner(workflow('w', async (ctx) => ctx.step('a', ({ pause }) => pause('later', '1h'))))
    expect(await paused.run()).toEqual({ status: 'suspended' })
    expect(await paused.store.get('run')).toMatchObject({ status: 'sleeping', waitingFor: [{ kind: 'pause' }] })
  })

  it('beside a step hears its timer in time', async () => {
    const { run, clock, store } = await runner(
      workflow('w', async (ctx) =>
        Promise.race([ctx.sleep(7_000).then(() => 'slept'), ctx.step('a', () => new Promise<string>(() => {}))]),
      ),
    )
    const outcome = run({ deadline: START + 60_000 })
    await turns()
    expect(clock.next()).toBe(START + 7_000)
    clock.moveTo(START + 7_000)
    expect(await outcome).toEqual({ status: 'completed' })
    expect(await store.get('run')).toMatchObject({ output: 'slept' })
  })
})

describe('what is over', () => {
  it('of at-most-once steps is not written down again when the run is taken up again', async () => {
    const once = { semantics: 'at-most-once' } as const
    const among = async (sleeps: boolean) => {
      let attempts = 0
      const { run, clock, events } = await runner(
        workflow('w', async (ctx) => {
          await ctx.step('once', () => 1, once)
          if (sleeps) await ctx.sleep('1h')
          await ctx.step('again', () => (++attempts === 1 ? Promise.reject(new Error('busy')) : 1), {
            retry: { initial: '1h', jitter: false },
          })
        }),
      )
      while ((await run()).status === 'suspended') clock.moveTo(clock.now() + 3_600_000)
      return events()
    }
    const before = ['step.started', 'step.completed']
    expect(await among(false)).toEqual([...before, 'step.retrying', 'step.completed', 'run.completed'])
    expect(await among(true)).toEqual([
      ...before,
      'sleep.started',
      'sleep.completed',
      'step.retrying',
      'step.completed',
      'run.completed',
    ])
  })

  it('of children is not started again by the runner after a dead one', async () => {
    const child = workflow('child', async () => 1)
    const { run, store, clock } = await runner(
      workflow('w', async (ctx) => {
        const found = await ctx.run(child, undefined)
        return ctx.step('b', () => found)
      }),
    )
    const { epoch } = (await store.claim('run', lease))!.run
    const started = {
      type: 'child.started',
      id: 'child',
      run: 'kid',
      workflow: 'child',
      version: 1,
      input: undefined,
      onParentEnd: 'cancel',
    } as const
    const events = [started, { type: 'child.completed', id: 'child', result: 5 } as const]
    await store.commit({ runId: 'run', epoch, frame: { seq: 1, at: START, epoch, events }, next: { kind: 'keep' } })
    clock.moveTo(START + 31_000)
    expect(await run()).toEqual({ status: 'completed' })
    expect(await store.get('run')).toMatchObject({ output: 5 })
    expect(await store.get('kid')).toBeUndefined()
  })
})

describe('a decision that the code makes at its very start', () => {
  it('is durable before the first step begins', async () => {
    let durable: string[] = []
    const { run, events } = await runner(
      workflow('w', async (ctx) => {
        const isNew = ctx.patched('greeting')
        return ctx.step('a', async () => {
          durable = await events()
          return isNew
        })
      }),
    )
    expect(await run()).toEqual({ status: 'completed' })
    expect(durable).toEqual(['patch'])
  })
})
