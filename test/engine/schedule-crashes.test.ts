import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Schedule } from '../../sdk/index.ts'
import { SCHEDULE_WORKFLOW } from '../../sdk/scheduling/state.ts'
import type { TestEnv } from '../../sdk/testing/index.ts'
import { amount } from '../outside/amount.ts'
import { deployed, hourly, IS_WRITE, often, other, ownRuns, started, withFaults } from './schedule-fixture.ts'

describe('a crash in the middle of a sync', () => {
  const earlierState = { plan: hourly.plan, isPaused: false, started: 0, skipped: 0 }
  const histories: Record<string, { before: (env: TestEnv) => Promise<unknown>; target: Schedule[] }> = {
    'that adds a schedule': { before: async () => {}, target: [hourly] },
    'that changes a plan': { before: (env) => env.schedules.sync([often]), target: [hourly] },
    'that removes a schedule': { before: (env) => env.schedules.sync([often]), target: [] },
    'that puts one back': {
      before: async (env) => [await env.schedules.sync([often]), await env.schedules.sync([])],
      target: [hourly],
    },
    'that removes one that was put back': {
      before: async (env) => [
        await env.schedules.sync([often]),
        await env.schedules.sync([]),
        await env.schedules.sync([often]),
      ],
      target: [],
    },
    'that replaces a run': {
      before: async (env) => [await env.schedules.sync([often]), await env.client.terminate('schedule.tick')],
      target: [hourly],
    },
    'that takes over a run of 0.1.0': {
      before: (env) => env.client.start(SCHEDULE_WORKFLOW, earlierState, { id: 'schedule.tick' }),
      target: [often],
    },
    'that ends a run of 0.1.0': {
      before: (env) => env.client.start(SCHEDULE_WORKFLOW, earlierState, { id: 'schedule.tick' }),
      target: [],
    },
  }

  it.each(Object.keys(histories))(
    '%s is made good by the next, wherever it happened and whatever that one wants',
    async (name) => {
      const { before, target } = histories[name]!
      for (const next of [target, [hourly], []]) {
        for (let survived = false, writes = 0; !survived; writes++) {
          const env = await deployed()
          await before(env)
          await env.settle()
          let left = writes
          const dying = withFaults(env, (call) => {
            if (IS_WRITE.test(call) && left-- <= 0) throw new Error('killed')
          })
          survived = await dying.sync(target).then(
            () => true,
            () => false,
          )
          await env.restart()
          await env.schedules.sync(next)
          await env.settle()
          expect(await ownRuns(env), `killed after ${writes} writes`).toHaveLength(next.length)
          const expected = next.length === 0 ? 0 : 7_200_000 / next[0]!.plan.everyMs!
          expect(await started(env, '2h'), `killed after ${writes} writes`).toBe(expected)
        }
      }
    },
  )
})

describe('several processes at once, with different code, some of which die', () => {
  const wants = fc.constantFrom([], [hourly], [often], [other], [hourly, other])
  /** What one of them wants, how long it dawdles before each call, and which call it does not live to make. */
  const one = fc.record({
    schedules: wants,
    dawdles: fc.array(fc.constantFrom(0, 0, 1, 3, 200), { minLength: 12, maxLength: 12 }),
    dies: fc.option(fc.nat(12), { nil: 99 }),
  })

  it('leave a store that the next sync repairs: nothing is lost, nothing runs twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(wants, { maxLength: 3 }),
        fc.array(one, { minLength: 2, maxLength: 4 }),
        wants,
        async (before, processes, after) => {
          const env = await deployed()
          for (const schedules of before) await env.schedules.sync(schedules)
          await env.settle()
          await Promise.allSettled(
            processes.map(({ schedules, dawdles, dies }) => {
              let calls = 0
              const slow = async () => {
                if (calls === dies) throw new Error('killed')
                for (let i = dawdles[calls++ % dawdles.length]!; i > 0; i--)
                  await new Promise((resolve) => setImmediate(resolve))
              }
              return withFaults(env, slow).sync(schedules)
            }),
          )
          await env.schedules.sync(after)
          await env.settle()
          expect(await ownRuns(env)).toHaveLength(after.length)
          expect(await started(env, '2h')).toBe(after.reduce((sum, { plan }) => sum + 7_200_000 / plan.everyMs!, 0))
        },
      ),
      { numRuns: amount({ few: 15, many: 150 }) },
    )
  })
})
