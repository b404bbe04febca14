import { describe, expect, it, vi } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { runner, turns } from './runner-fixture.ts'

describe('code that goes on by itself', () => {
  it('while a body is being started stops its run at once, without waiting for the body', async () => {
    let free!: () => void
    const foreign = new Promise<void>((resolve) => (free = resolve))
    const log = vi.fn()
    const { run, store } = await runner(
      workflow('w', async (ctx) => {
        void ctx.step('a', () => {
          free()
          return new Promise(() => {})
        })
        await foreign
        await ctx.step('b', () => 1)
      }),
      {},
      { log },
    )
    expect(await run()).toEqual({ status: 'stuck' })
    const { error } = (await store.get('run'))!
    expect(error).toMatchObject({ name: 'ForeignAwaitError' })
    await turns()
    expect(log.mock.calls).toEqual([['error', error!.message, { runId: 'run', workflow: 'w' }]])
  })

  it('while the runner looks for mail starts none of the steps that were asked for', async () => {
    let free!: () => void
    let runs = 0
    const foreign = new Promise<void>((resolve) => (free = resolve))
    const { run, store } = await runner(
      workflow('w', async (ctx) => {
        void ctx.step('a', () => ++runs)
        await foreign
        await ctx.step('b', () => 1)
      }),
    )
    store.watch = (_id, onChange) => {
      onChange()
      return () => {}
    }
    const { inbox } = store
    store.inbox = async (id) => {
      free()
      await turns()
      return inbox.call(store, id)
    }
    expect(await run()).toEqual({ status: 'stuck' })
    expect(runs).toBe(0)
  })

  it('while a step runs stops its run at once', async () => {
    let free!: () => void
    const foreign = new Promise<void>((resolve) => (free = resolve))
    const { run } = await runner(
      workflow('w', async (ctx) => Promise.race([foreign, ctx.step('a', () => new Promise<void>(() => {}))])),
    )
    const outcome = run()
    await turns()
    free()
    expect(await outcome).toEqual({ status: 'stuck' })
  })
})
