import type { Wake } from '../../ports.ts'
import type { Aws } from './context.ts'
import { dueIndex, runIdOf } from './keys.ts'
import type { RunItem } from './run-item.ts'

/** The time for which a schedule will be armed, if the wait is long enough for one; noted so that it can be taken back. */
export function armedFor(aws: Aws, wakeAt: number, now: number): number | undefined {
  return wakeAt - now >= aws.thresholds.longWaitMs ? wakeAt : undefined
}

/** The attributes of a run that is to be woken at a time. */
export function wakePlan(aws: Aws, runId: string, wakeAt: number, now: number): Partial<RunItem> & { dueShard: string; dueKey: string } {
  return { wakeAt, untimed: undefined, armedAt: armedFor(aws, wakeAt, now), ...dueIndex(runId, wakeAt + aws.thresholds.graceMs) }
}

/** The attributes of a run that nobody is to wake. */
export const NO_WAKE = { wakeAt: undefined, untimed: undefined, armedAt: undefined, dueShard: undefined, dueKey: undefined }

/** The schedule that was armed for the run and will not be needed; one that has fired by now is gone by itself. */
export function obsoleteSchedule(aws: Aws, run: RunItem, wanted: number | undefined, now: number): Wake[] {
  const { armedAt } = run
  if (armedAt === undefined || armedAt === wanted || armedAt - aws.thresholds.leadMs <= now) return []
  return [{ runId: runIdOf(run.pk), at: armedAt }]
}
