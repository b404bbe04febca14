import { among, flag, listOf, maybe, named, object, type Shaped, text, time, whole } from './kit.ts'

export const ScheduleShape = object({
  name: text,
  runId: text,
  workflow: text,
  version: whole,
  cron: maybe(text),
  everyMs: maybe(whole),
  timezone: text,
  overlap: among(['skip', 'queue', 'allow']),
  catchUp: flag,
  isPaused: flag,
  nextDue: maybe(time),
  started: whole,
  skipped: whole,
  lastError: maybe(object({ at: maybe(time), message: text })),
})
export type ScheduleJson = Shaped<typeof ScheduleShape>

export const Schedules = named('Schedules', object({ schedules: listOf(ScheduleShape) }))
export type SchedulesJson = Shaped<typeof Schedules>
