import { Cron } from 'croner'

/** The plan that a schedule's own run follows. */
export interface Plan {
  name: string
  workflow: string
  version: number
  input?: unknown
  cron?: string
  everyMs?: number
  timezone: string
  overlap: 'skip' | 'queue' | 'allow'
  catchUp: boolean
}

/** The first time after `after`, as epoch milliseconds. */
export function nextTime({ cron, everyMs, timezone }: Plan, after: number): number | undefined {
  if (everyMs !== undefined) return after + everyMs
  return new Cron(cron!, { timezone, paused: true }).nextRun(new Date(after))?.getTime()
}

/**
 * Throws if the schedule would never run, or not be understood. Workflow code makes its schedules while a function
 * starts, and the first `Intl.DateTimeFormat` of a process takes 10 ms. So an expression is tried in UTC, which needs
 * none, where the name of the time zone is known to be good.
 */
export function assertRuns(plan: Plan): void {
  const { cron, timezone } = plan
  if (cron !== undefined && isTimeZone(timezone) && new Cron(cron, { utcOffset: 0, paused: true }).nextRun(TRIED_FROM))
    return
  if (nextTime(plan, TRIED_FROM.getTime()) === undefined) throw new Error('it would never run')
}

const TRIED_FROM = new Date(Date.UTC(2026, 0, 1))

/** Of aliases and other spellings it does not know. */
const isTimeZone = (name: string): boolean => name === 'UTC' || Intl.supportedValuesOf('timeZone').includes(name)

/** The last of the times from `due` to `now`: after an outage one run stands for all that were missed. */
export function latestTime({ everyMs }: Plan, due: number, now: number): number {
  return everyMs === undefined || now < due ? Math.max(due, now) : due + Math.floor((now - due) / everyMs) * everyMs
}

/** Computing the times of a cron expression takes time, and a higher count would tell nothing more. */
const MOST_COUNTED = 1_000

/** How many times there were after `after` and before `now`, and where to continue counting. */
export function timesBetween(plan: Plan, after: number, now: number): { count: number; last: number } {
  if (plan.everyMs !== undefined) {
    const count = Math.max(0, Math.ceil((now - after) / plan.everyMs) - 1)
    return { count, last: after + count * plan.everyMs }
  }
  const times = new Cron(plan.cron!, { timezone: plan.timezone, paused: true })
  let last = after
  for (let count = 0; count < MOST_COUNTED; count++) {
    const time = times.nextRun(new Date(last))?.getTime()
    if (time === undefined || time >= now) return { count, last }
    last = time
  }
  return { count: MOST_COUNTED, last: now - 1 }
}
