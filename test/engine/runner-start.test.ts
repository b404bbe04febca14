import { beforeAll, describe, expect, it, vi } from 'vitest'
import { UnknownWorkflowError } from '../../sdk/base/errors.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { running } from '../../sdk/engine/running.ts'
import { signal, workflow } from '../../sdk/index.ts'
import type { RunStore } from '../../sdk/ports/run-store.ts'
import { lease, quick, runner, START } from './runner-fixture.ts'

const reasonOfEnd = async (store: RunStore) => (await store.frames('run')).at(-1)?.events.at(-1)
const heedsNothing = (ran: string[]) =>
  workflow('w', async (ctx) => {
    ran.push('the code')
    await ctx.sleep('1h').catch((error: Error) => ran.push(error.message))
  })

describe('a run that was cancelled before its first runner had it', () => {
  it('says why it was cancelled, or that it never started', async () => {
    const told = await runner(quick)
    await told.store.deliver('run', { id: 'c', kind: 'cancel', reason: 'ordered twice' })
    await told.run()
    expect(await reasonOfEnd(told.store)).toEqual({ type: 'run.cancelled', reason: 'ordered twice' })
    const untold = await runner(quick)
    await untold.store.deliver('run', { id: 'c', kind: 'cancel' })
    await untold.run()
    expect(await reasonOfEnd(untold.store)).toEqual({ type: 'run.cancelled', reason: 'cancelled before it started' })
  })

  it('runs its code all the same if a runner died of it: how far that one was is not known', async () => {
    const ran: string[] = []
    const { run, store, clock } = await runner(heedsNothing(ran))
    await store.claim('run', lease)
    clock.moveTo(START + 31_000)
    await store.deliver('run', { id: 'c', kind: 'cancel', reason: 'enough' })
    expect(await run()).toEqual({ status: 'completed' })
    expect(ran).toEqual(['the code', 'enough'])
  })

  it('runs its code all the same if it repeats another run, whose journal it has', async () => {
    const ran: string[] = []
    const journal = {
      seq: 1,
      at: START,
      epoch: 0,
      events: [{ type: 'sleep.started' as const, id: 'sleep', until: START + 3_600_000, ms: 3_600_000 }],
    }
    const { run, store } = await runner(heedsNothing(ran), { journal })
    await store.deliver('run', { id: 'c', kind: 'cancel', reason: 'enough' })
    expect(await run()).toEqual({ status: 'completed' })
    expect(ran).toEqual(['the code', 'enough'])
  })

  it('is not every run to which something came before it started', async () => {
    const { run, store } = await runner(workflow('w', async (ctx) => ctx.waitFor(signal<number>('go'))))
    await store.deliver('run', { id: 'm', kind: 'signal', name: 'go', payload: 5 })
    expect(await run()).toEqual({ status: 'completed' })
  })
})

describe('code that is looked for in a store', () => {
  it('and is not there leaves the run to others', async () => {
    const { world, store } = await runner(quick)
    const source = { exact: () => Promise.reject(new UnknownWorkflowError('no workflow is named so')) }
    expect(await runOnce(world, source as never, 'run', { lease })).toEqual({ status: 'unknown' })
    expect(await store.get('run')).toMatchObject({ status: 'pending', waitingFor: [{ kind: 'code', id: 'w' }] })
  })

  it('that fails at once says nothing about the run', async () => {
    const { world } = await runner(quick)
    const source = {
      exact: () => {
        throw new Error('the store is down')
      },
    }
    await expect(runOnce(world, source as never, 'run', { lease })).rejects.toThrow('the store is down')
  })
})

describe('what a runner runs', () => {
  it('is known by its run and its workflow, wherever the runner was called from', async () => {
    let whose: unknown
    const log = vi.fn()
    const { run } = await runner(
      workflow('w', async () => {
        whose = running.getStore()
      }),
      {},
      { log },
    )
    await running.run({ runId: 'other', workflow: 'other', step: 'runs others', log: () => {} }, run)
    expect(whose).toEqual({ runId: 'run', workflow: 'w', log })
  })
})

describe('strays', () => {
  const watchStrays = vi.fn()
  let watching: typeof runOnce

  beforeAll(async () => {
    vi.doMock('../../sdk/engine/running.ts', () => ({ running, watchStrays }))
    const file = new URL('../../sdk/engine/run-loop.ts', import.meta.url).pathname
    watching = ((await import(`${file}?watching`)) as { runOnce: typeof runOnce }).runOnce
    vi.doUnmock('../../sdk/engine/running.ts')
  })

  it('are watched for from the first run on that there is something to do for', async () => {
    const { world } = await runner(quick)
    const source = { exact: () => quick } as never
    await watching(world, source, 'another run', { lease })
    expect(watchStrays).not.toHaveBeenCalled()
    await watching(world, source, 'run', { lease })
    expect(watchStrays).toHaveBeenCalledOnce()
  })
})
