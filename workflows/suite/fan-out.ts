import { describe, expect, test } from 'vitest'
import { fanOut } from '../fan-out.ts'
import { Performance, type Stage } from './stage.ts'

export const describeFanOut = (on: () => Stage) =>
  describe('fan-out', () => {
    test('a hundred items, ten at a time, each once', async () => {
      const run = await Performance.start(on(), fanOut, { items: 100, concurrency: 10 })
      expect(await run.output()).toEqual({ count: 100, sum: 328_350 })
      const steps = await run.steps()
      expect(steps).toHaveLength(100)
      expect(new Set(steps).size).toBe(100)
    })

    test('a hundred at once', async () => {
      const run = await Performance.start(on(), fanOut, { items: 100, concurrency: 100 })
      expect(await run.output()).toEqual({ count: 100, sum: 328_350 })
    })
  })
