import { describe, expect, test } from 'vitest'
import { agent } from '../agent.ts'
import { Performance, type Stage } from './stage.ts'

export const describeAgent = (on: () => Stage) =>
  describe('agent loop', () => {
    test('it thinks and acts in turn; a restart loses no thought and repeats none', async () => {
      const run = await Performance.start(on(), agent, { goal: 'tidy up' })
      await on().restart()
      const { turns, notes } = await run.output()
      expect(turns).toBe(3)
      expect(notes).toEqual([1, 2, 3].flatMap((turn) => [1, 2, 3].map((part) => `tidy up: turn ${turn}, part ${part}`)))
      expect(await run.steps()).toEqual(['think', 'act', 'think:1', 'act:1', 'think:2'])
      expect(await run.get()).toMatchObject({ progress: { turn: 3, notes: 9 } })
    })

    test('it gives up after as many turns as it was given', async () => {
      const run = await Performance.start(on(), agent, { goal: 'tidy up', most: 2 })
      expect(await run.output()).toMatchObject({ turns: 2, notes: { length: 6 } })
    })
  })
