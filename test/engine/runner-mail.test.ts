import { describe, expect, it } from 'vitest'
import { signal, workflow } from '../../sdk/index.ts'
import type { Message } from '../../sdk/ports/run.ts'
import { counted, deaf, runner, START, turns } from './runner-fixture.ts'

const go = signal<number>('go')
const never = () => new Promise<never>(() => {})
const message = (payload = 5): Message => ({ id: `m${payload}`, kind: 'signal', name: 'go', payload })
const waitsBesideAStep = workflow('w', async (ctx) => Promise.race([ctx.waitFor(go), ctx.step('a', never)]))

describe('a runner finds what has come without being notified', () => {
  it('when it wants to suspend the run', async () => {
    const { run, store, world } = await runner(workflow('w', async (ctx) => ctx.waitFor(go)))
    deaf(world)
    const { commit } = store
    let commits = 0
    store.commit = async (said) => {
      if (++commits === 1) await store.deliver('run', message())
      if (commits > 10) throw new Error('it wants to suspend the run again and again')
      return commit.call(store, said)
    }
    expect(await run()).toEqual({ status: 'completed' })
    expect(await store.get('run')).toMatchObject({ output: 5 })
  })

  it('when it renews its lease', async () => {
    const { run, store, world, clock } = await runner(waitsBesideAStep)
    deaf(world)
    const outcome = run()
    await turns()
    await store.deliver('run', message())
    clock.moveTo(START + 10_000)
    expect(await outcome).toEqual({ status: 'completed' })
  })

  it('at the heartbeat of a step, without waiting for anything else', async () => {
    let beat!: () => void
    const { run, store, world } = await runner(
      workflow('w', async (ctx) =>
        Promise.race([
          ctx.waitFor(go),
          ctx.step('a', ({ heartbeat }) => {
            beat = heartbeat
            return never()
          }),
        ]),
      ),
    )
    deaf(world)
    const outcome = run()
    await turns()
    await store.deliver('run', message())
    beat()
    expect(await outcome).toEqual({ status: 'completed' })
  })

  it('when it shows the progress of the run', async () => {
    let finish!: () => void
    const { run, store, world } = await runner(
      workflow('w', async (ctx) => {
        const wait = ctx.waitFor(go)
        await ctx.step('a', () => new Promise<void>((resolve) => (finish = resolve)))
        ctx.progress(50)
        return Promise.race([wait, ctx.step('b', never)])
      }),
    )
    deaf(world)
    const outcome = run()
    await turns()
    await store.deliver('run', message())
    finish()
    expect(await outcome).toEqual({ status: 'completed' })
  })
})

describe('a runner', () => {
  it('hears of what comes in while it starts a body', async () => {
    const { run, store } = await runner(
      workflow('w', async (ctx) =>
        Promise.race([
          ctx.waitFor(go),
          ctx.step('a', () => {
            void store.deliver('run', message())
            return never()
          }),
        ]),
      ),
    )
    expect(await run()).toEqual({ status: 'completed' })
  })

  it('looks for nothing at a heartbeat when nothing has come', async () => {
    const { run, world } = await runner(
      workflow('w', async (ctx) =>
        ctx.step('a', ({ heartbeat }) => {
          heartbeat()
          return never()
        }),
      ),
    )
    deaf(world)
    const looks = counted(world, 'inbox')
    const renewals = counted(world, 'renew')
    void run()
    await turns()
    expect([renewals(), looks()]).toEqual([1, 0])
  })

  it('takes no message for code that has ended', async () => {
    const { run, store } = await runner(
      workflow('w', async (ctx) => Promise.race([ctx.waitFor(go), ctx.waitFor(signal<number>('too late'))])),
    )
    await store.deliver('run', message(1))
    await store.deliver('run', { id: 'm2', kind: 'signal', name: 'too late', payload: 2 })
    expect(await run()).toEqual({ status: 'completed' })
    const events = (await store.frames('run')).flatMap((frame) => frame.events)
    expect(events.filter(({ type }) => type === 'wait.completed')).toMatchObject([{ id: 'go', payload: 1 }])
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', abandoned: ['too late'] })
  })
})
