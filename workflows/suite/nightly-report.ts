import { describe, expect, test } from 'vitest'
import { everyNight } from '../nightly-report.ts'
import { Performance, type Stage } from './stage.ts'

export const describeNightlyReport = (on: () => Stage) =>
  describe('nightly report', () => {
    test('it is due at half past two in Berlin; triggered, it is made now', async () => {
      const { client, schedules } = on()
      await on().syncSchedules()
      const look = async () => (await schedules.list()).find(({ name }) => name === everyNight.name)
      const before = await on().until('the schedule is there', async () =>
        (await look())?.nextDue === undefined ? undefined : look(),
      )
      const inBerlin = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' })
      expect(inBerlin.format(before!.nextDue)).toBe('02:30')

      await schedules.trigger(everyNight.name)
      const { runId: id } = await on().until(
        'a report is made',
        async () => (await client.list({ workflow: 'nightly-report', limit: 1 })).runs[0],
      )
      const run = new Performance<{ day: string; total: number }>(on(), id)
      const { day, total } = await run.output()
      expect(total).toBe(800)
      expect(day).toBe(new Date((await run.get()).startedAt!).toISOString().slice(0, 10))
      expect((await run.steps()).at(-1)).toBe('publish')
      await on().until('the schedule counts it', async () =>
        (await look())!.started > before!.started ? true : undefined,
      )
      expect((await look())!.skipped).toBe(before!.skipped)
    })
  })
