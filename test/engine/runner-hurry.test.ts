import { describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { runner, START, turns } from './runner-fixture.ts'

describe('a runner whose time is nearly over', () => {
  it('suspends a run that has nothing to start', async () => {
    const { run } = await runner(workflow('w', async (ctx) => ctx.sleep('1h')))
    expect(await run({ deadline: START + 3_000 })).toEqual({ status: 'suspended' })
  })

  it('waits for the steps that run, and leaves those that have not begun to others', async () => {
    const begun: string[] = []
    const finish: (() => void)[] = []
    const body = (name: string) => () => {
      begun.push(name)
      return new Promise<void>((resolve) => void finish.push(resolve))
    }
    const { run, clock, events } = await runner(
      workflow('w', async (ctx) => {
        const slow = ctx.step('slow', body('slow'))
        await ctx.step('first', body('first'))
        await ctx.step('next', body('next'))
        await slow
      }),
    )
    const outcome = run({ deadline: START + 10_000 })
    await turns()
    clock.moveTo(START + 6_000)
    finish[1]!()
    await turns()
    expect([begun, await events()]).toEqual([['slow', 'first'], ['step.completed']])
    finish[0]!()
    expect(await outcome).toEqual({ status: 'released' })
    expect([begun, await events()]).toEqual([
      ['slow', 'first'],
      ['step.completed', 'step.completed'],
    ])
  })

  it('ends a run that is over with the first of several steps that were cut off for good', async () => {
    const endless = () => new Promise(() => {})
    const once = { retry: { attempts: 1 } }
    const both = workflow('w', async (ctx) => Promise.all([ctx.step('a', endless, once), ctx.step('b', endless, once)]))
    const { run, clock, events, store } = await runner(both)
    const outcome = run({ deadline: START + 60_000 })
    await turns()
    clock.moveTo(START + 59_500)
    expect(await outcome).toEqual({ status: 'failed' })
    expect(await events()).toEqual(['step.failed', 'run.failed'])
    expect(await store.get('run')).toMatchObject({ status: 'failed' })
  })

  it('does not wait in place for a timer in its very last second', async () => {
    const asleep = workflow('w', async (ctx) => ctx.sleep(500))
    const { run, clock } = await runner(asleep, {}, { inlineWaitMs: 1_000 })
    const { at } = clock
    let timers = 0
    clock.at = (time, callback) => {
      if (++timers > 100) throw new Error('it sets timer after timer for a time that has passed')
      return at.call(clock, time, callback)
    }
    expect(await run({ deadline: START + 1_000 })).toEqual({ status: 'suspended' })
    const other = await runner(asleep, {}, { inlineWaitMs: 1_000 })
    const outcome = other.run({ deadline: START + 1_600 })
    await turns()
    other.clock.moveTo(START + 500)
    expect(await outcome).toEqual({ status: 'completed' })
  })
})
