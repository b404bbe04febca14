import type { ErrorRecord } from '../base/events.ts'
import type { Fingerprint } from '../views/fingerprint.ts'
import type { RunRecord, RunStatus } from './run.ts'

/** A run as lists show it: never with a payload, which may be large and lie elsewhere. */
export type RunSummary = Pick<
  RunRecord,
  | 'workflow'
  | 'version'
  | 'status'
  | 'generation'
  | 'attempt'
  | 'wakeAt'
  | 'waitingFor'
  | 'parent'
  | 'tags'
  | 'createdAt'
  | 'startedAt'
  | 'endedAt'
> & {
  runId: string
  /** Why it failed or is stuck. */
  error?: ShortError
  /** When it got stuck, if it is. */
  stuckAt?: number
}

/** An error as lists show it, and what it has in common with others of its kind. */
export type ShortError = Pick<ErrorRecord, 'name' | 'message'> & { incident?: Omit<Fingerprint, 'workflow'> }

/** How many runs there are; `isMore` where no more were counted. */
export interface Count {
  count: number
  isMore?: true
}
export type RunCounts = Partial<Record<RunStatus, Count>>

export interface RunFilter {
  workflow?: string
  /** What its id begins with. */
  idPrefix?: string
  status?: RunStatus
  /** Only runs that have not ended. */
  isOpen?: true
  tag?: string
  /** Created at or after, and before. */
  from?: number
  to?: number
  cursor?: string
  limit: number
}

/**
 * `cursor`: there may be more behind. A world reads no more for one page than it has set itself, so a page may be
 * short, or empty.
 */
export interface RunPage {
  runs: RunSummary[]
  cursor?: string
}
