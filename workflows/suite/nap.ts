import { describe, expect, test } from 'vitest'
import { nap } from '../nap.ts'
import { Performance, type Stage } from './stage.ts'

const YEAR_S = 365 * 86_400

export const describeNap = (on: () => Stage) =>
  describe('nap', () => {
    test('a step, a sleep that is not over early, a step', async () => {
      const run = await Performance.start(on(), nap, { name: 'Ada', seconds: 2 })
      await run.waitsFor('sleep', 'sleep')
      expect(await run.output()).toEqual({ message: 'Ada closed their eyes and slept for 2 s' })
      const history = await run.history()
      expect(history.map(({ type }) => type)).toEqual([
        'run.started',
        'step.completed',
        'sleep.started',
        'sleep.completed',
        'step.completed',
        'run.completed',
      ])
      expect(history[3]!.at - history[2]!.at).toBeGreaterThanOrEqual(2_000)
      expect(history[3]!.at - history[2]!.at).toBeLessThanOrEqual(2_000 + on().latenessMs)
    })

    test('a nap may be a year long', async () => {
      const run = await Performance.start(on(), nap, { name: 'Ada', seconds: YEAR_S })
      await run.sleepsThrough('sleep')
      expect(await run.output()).toEqual({ message: 'Ada closed their eyes and slept for 31536000 s' })
      expect(await run.sleeps()).toEqual([YEAR_S * 1_000])
    })

    test('a nap of more than a year is refused, and says so', async () => {
      const run = await Performance.start(on(), nap, { name: 'Ada', seconds: YEAR_S + 86_400 })
      expect(await run.failure()).toMatch(/365 days/)
    })
  })
