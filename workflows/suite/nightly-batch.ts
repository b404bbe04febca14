import { describe, expect, test } from 'vitest'
import { billing, everyNightBilling, usage } from '../nightly-batch.ts'
import { Performance, type Stage } from './stage.ts'

export const describeNightlyBatch = (on: () => Stage) =>
  describe('nightly batch', () => {
    test('by day, ten uses become one run, which has each of them once', async () => {
      const tenant = `acme-${on().now()}`
      const ids = new Set<string>()
      for (let units = 1; units <= 10; units++) ids.add((await on().client.start(usage, { tenant, units })).runId)
      expect(ids.size).toBe(1)
      const run = new Performance<{ uses: number; units: number }>(on(), [...ids][0]!)
      expect(await run.output()).toEqual({ uses: 10, units: 55 })
      expect(await run.steps()).toEqual(['write down'])
    })

    test('by night, at one in Berlin, every tenant gets a bill', async () => {
      await on().syncSchedules()
      const look = async () => (await on().schedules.list()).find(({ name }) => name === everyNightBilling.name)
      const { nextDue } = await on().until('the schedule is there', async () =>
        (await look())?.nextDue === undefined ? undefined : look(),
      )
      expect(new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' }).format(nextDue)).toBe(
        '01:00',
      )
      const run = await Performance.start(on(), billing, { tenants: ['acme', 'globex', 'initech'] })
      expect(await run.output()).toEqual({ bills: ['bill for acme', 'bill for globex', 'bill for initech'] })
    })
  })
