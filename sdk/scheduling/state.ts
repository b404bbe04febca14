import type { Json } from '../base/json.ts'
import { decode } from '../base/values.ts'
import { hasEnded, type RunRecord } from '../ports/run.ts'
import type { Plan } from './plan.ts'

/** The state of a schedule between two generations of its run. */
export interface ScheduleState {
  plan: Plan
  /** The serial of its plan. Runs that 0.1.0 began have none until they get an update. */
  serial?: number
  isPaused: boolean
  /** The last time it was due. */
  lastDue?: number
  /** Runs started so far, and due times skipped because the run before had not ended. */
  started: number
  skipped: number
  /** Due times that are queued behind the current run. */
  waiting?: number
  /** The failure of the last run: it could not be started, or it did not complete. */
  lastError?: { at: number; message: string }
}

/** The progress of the run. Without `nextDue` it does not wait for a time. */
export type ScheduleProgress = ScheduleState & { nextDue?: number }

export const SCHEDULE_WORKFLOW = 'overwinter schedule'

/** The state of a schedule's run; its input, if no runner has run it yet. */
export function stateOf(run: { progress?: Json; input: Json | undefined }): ScheduleProgress {
  return decode(run.progress ?? run.input) as ScheduleProgress
}

/** Any client may give a run of its own the id of a schedule's. */
export const isAlive = (run: RunRecord): boolean => run.workflow === SCHEDULE_WORKFLOW && !hasEnded(run.status)
