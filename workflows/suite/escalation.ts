import { describe, expect, test } from 'vitest'
import { acknowledged, escalation } from '../escalation.ts'
import { Performance, type Stage } from './stage.ts'

const HOUR_MS = 3_600_000
const incident = { incident: 'disk full', people: ['ann', 'bob', 'cleo'] }

export const describeEscalation = (on: () => Stage) =>
  describe('escalation', () => {
    const inTime = (ms: number) => new Date(on().now() + ms).toISOString()

    test('it goes on to the next person until one reacts', async () => {
      const run = await Performance.start(on(), escalation, {
        ...incident,
        deadline: inTime(HOUR_MS),
        patience: on().takes('10m', '2s'),
      })
      await run.waitsFor('sleep', 'patience:1')
      await run.signal(acknowledged, { by: 'bob' })
      expect(await run.output()).toEqual({
        incident: 'disk full',
        told: ['ann about disk full', 'bob about disk full'],
        acknowledgedBy: 'bob',
      })
      expect(await run.steps()).toEqual(['page', 'page:1'])
    })

    test('it ends at its deadline and not before, even when all have been notified', async () => {
      const deadline = inTime(on().takes(HOUR_MS, 9_000))
      const run = await Performance.start(on(), escalation, {
        ...incident,
        deadline,
        patience: on().takes('10m', '1s'),
      })
      expect(await run.output()).toMatchObject({ told: { length: 3 }, acknowledgedBy: 'nobody' })
      const end = (await run.history()).find((event) => event.type === 'sleep.completed' && event.id === 'deadline')!
      const lateness = end.at - Date.parse(deadline)
      expect(lateness).toBeGreaterThanOrEqual(0)
      expect(lateness).toBeLessThanOrEqual(on().latenessMs)
    })
  })
