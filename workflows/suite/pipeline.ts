import { describe, expect, test } from 'vitest'
import { pipeline } from '../pipeline.ts'
import { Performance, type Stage } from './stage.ts'

export const describePipeline = (on: () => Stage) =>
  describe('rate-limited pipeline', () => {
    test('it keeps its distance between pages, and cools down when it is told to', async () => {
      const run = await Performance.start(on(), pipeline, { pages: 4, coolDown: on().takes('2m', '3s') })
      for (const pause of ['cool-down', 'cool-down:1', 'cool-down:2']) await run.sleepsThrough(pause)
      expect(await run.output()).toEqual({ records: 400 })
      expect(await run.get()).toMatchObject({ progress: { page: 4, pages: 4, records: 400 } })
      expect(await run.sleeps()).toEqual([30_000, 30_000, 30_000])
      expect(await run.steps()).toEqual(['fetch page', 'fetch page:1', 'fetch page:2', 'fetch page:3'])
      const retries = (await run.history()).filter((event) => event.type === 'step.retrying')
      expect(retries).toMatchObject([{ id: 'fetch page:2', attempt: 1, error: { message: '429: too many requests' } }])
    })
  })
