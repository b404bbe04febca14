import type { Json } from '../base/json.ts'
import { decode } from '../base/values.ts'
import { hasEnded, type RunRecord } from '../ports/run.ts'
import type { Plan } from './plan.ts'

/** Where a schedule stands between two generations of its run. */
export interface ScheduleState {
  plan: Plan
  /** Which of the schedule's plans this is. Runs that 0.1.0 began do not know it until they are told. */
  serial?: number
  isPaused: boolean
  /** The last time it was due. */
  lastDue?: number
  /** Started so far, and left out because the one before was still under way. */
  started: number
  skipped: number
  /** Came due beside a run, and will follow it. */
  waiting?: number
  /** What went wrong with the last run: it could not be started, or it did not complete. */
  lastError?: { at: number; message: string }
}

/** What the run shows of itself. Without `nextDue` it waits for something else than the time. */
export type ScheduleProgress = ScheduleState & { nextDue?: number }

export const SCHEDULE_WORKFLOW = 'overwinter schedule'

/** Where the run of a schedule stands; what it began with, if nobody has looked at it yet. */
export function stateOf(run: { progress?: Json; input: Json | undefined }): ScheduleProgress {
  return decode(run.progress ?? run.input) as ScheduleProgress
}

/** Nothing keeps people from giving a run of theirs the id of a schedule's. */
export const isAlive = (run: RunRecord): boolean => run.workflow === SCHEDULE_WORKFLOW && !hasEnded(run.status)
