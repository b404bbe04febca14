import { describe, expect, test } from 'vitest'
import { flaky } from '../flaky.ts'
import { Performance, type Stage } from './stage.ts'

export const describeFlaky = (on: () => Stage) =>
  describe('flaky', () => {
    test('the third attempt succeeds, and between attempts the run sleeps', async () => {
      const run = await Performance.start(on(), flaky, { failures: 2 })
      await run.waitsFor('retry', 'call-a-shaky-service')
      expect(await run.output()).toEqual({ attempts: 3 })
      const retries = (await run.history()).filter((event) => event.type === 'step.retrying')
      expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2])
      // A wait counts from its request, a moment before it is journaled.
      for (const { until, at } of retries) {
        expect(until - at).toBeLessThanOrEqual(2_000)
        expect(until - at).toBeGreaterThanOrEqual(2_000 - on().latenessMs)
      }
    })

    test('after five attempts it gives up', async () => {
      const run = await Performance.start(on(), flaky, { failures: 5 })
      expect(await run.failure()).toContain('failed after 5 attempts')
    })
  })
