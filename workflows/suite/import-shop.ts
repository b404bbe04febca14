import { describe, expect, test } from 'vitest'
import { importShop } from '../import-shop.ts'
import { Performance, type Stage } from './stage.ts'

export const describeImportShop = (on: () => Stage) =>
  describe('rate-limited import', () => {
    test('a shop is imported once at a time, and the next import begins when the first has ended', async () => {
      const input = { shop: 'tea', pages: 4, rest: on().takes('2m', '3s') }
      const first = await Performance.start(on(), importShop, input)
      const second = await Performance.start(on(), importShop, input)
      await second.reaches('queued', 'completed')
      expect(await first.output()).toEqual({ shop: 'tea', products: 400 })
      expect(await second.output()).toEqual({ shop: 'tea', products: 400 })
      expect((await second.get()).startedAt).toBeGreaterThanOrEqual((await first.get()).endedAt!)
      expect(await first.steps()).toEqual(['fetch page', 'fetch page:1', 'fetch page:2', 'fetch page:3'])
      const retries = (await first.history()).filter((event) => event.type === 'step.retrying')
      expect(retries).toMatchObject([{ id: 'fetch page:2', attempt: 1, error: { message: '429: too many requests' } }])
    })
  })
