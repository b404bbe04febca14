import { describe, expect, test } from 'vitest'
import { drip, unsubscribed } from '../drip.ts'
import { Performance, type Stage } from './stage.ts'

const DAY_MS = 86_400_000

export const describeDrip = (on: () => Stage) =>
  describe('drip campaign', () => {
    test('three letters over three weeks, under a key each', async () => {
      const run = await Performance.start(on(), drip, { email: 'ann@example.org' })
      for (const pause of ['pause', 'pause:1', 'pause:2']) await run.sleepsThrough(pause)
      const sent = [
        'welcome to ann@example.org (send)',
        'follow-up to ann@example.org (send:1)',
        'last call to ann@example.org (send:2)',
      ]
      expect(await run.output()).toEqual({ sent, unsubscribed: false })
      expect(await run.sleeps()).toEqual([2 * DAY_MS, 5 * DAY_MS, 14 * DAY_MS])
    })

    test('it stops when the person unsubscribes', async () => {
      const run = await Performance.start(on(), drip, { email: 'ann@example.org' })
      await run.sleepsThrough('pause')
      await run.waitsFor('sleep', 'pause:1')
      await run.signal(unsubscribed)
      expect(await run.output()).toMatchObject({ sent: { length: 2 }, unsubscribed: true })
      expect(await run.steps()).toEqual(['send', 'send:1'])
    })
  })
