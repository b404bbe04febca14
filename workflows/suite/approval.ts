import { describe, expect, test } from 'vitest'
import { approval, decided } from '../approval.ts'
import { Performance, type Stage } from './stage.ts'

const HALF_AN_HOUR_MS = 30 * 60_000

export const describeApproval = (on: () => Stage) =>
  describe('approval', () => {
    test('a person has half an hour, and decides', async () => {
      const run = await Performance.start(on(), approval, { document: 'budget' })
      await run.waitsFor('signal', 'decided')
      await run.signal(decided, { by: 'ann', approve: false })
      expect(await run.output()).toEqual({ document: 'budget', outcome: 'rejected', by: 'ann' })
      const wait = (await run.history()).find((event) => event.type === 'wait.started')!
      expect(wait.ms).toBe(HALF_AN_HOUR_MS)
      expect(await run.steps()).toEqual(['ask', 'tell the author'])
    })

    test('a decision that arrives before the run waits for it counts', async () => {
      const run = await Performance.start(on(), approval, { document: 'budget' })
      await run.signal(decided, { by: 'ann', approve: true })
      expect(await run.output()).toMatchObject({ outcome: 'approved', by: 'ann' })
    })

    test('silence is an answer, not an error', async () => {
      const run = await Performance.start(on(), approval, { document: 'budget', patience: on().takes('30m', '2s') })
      expect(await run.output()).toEqual({ document: 'budget', outcome: 'expired' })
      expect(await run.steps()).toEqual(['ask'])
    })
  })
