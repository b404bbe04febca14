import type { Duration } from '../base/duration.ts'
import type { RunRecord, RunStatus } from '../ports/run.ts'
import type { QueueView } from './run-view.ts'

/** What `get` shows of a run. */
export interface RunView
  extends Omit<
    RunRecord,
    'id' | 'secret' | 'epoch' | 'stimulus' | 'baseSeq' | 'format' | 'parsed' | 'reparse' | 'admission' | 'passed'
  > {
  runId: string
  /** Where what it has logged can be read: a link to CloudWatch. Only a deployed API tells. */
  logs?: string
  /**
   * Signals that were sent to the run and that it has not waited for so far: how many of each name. Only
   * `get` tells.
   */
  keptSignals?: Record<string, number>
  /** Of a queued run: what it is queued for. Only `get` tells. */
  queue?: QueueView
  /** When it got stuck, if it is. */
  stuckAt?: number
}

export interface ListOptions {
  workflow?: string
  status?: RunStatus
  tag?: string
  /** What its id begins with. */
  idPrefix?: string
  from?: Date | string | number
  to?: Date | string | number
  cursor?: string
  /** 1 to 1,000. Default 50. */
  limit?: number
  /** Leaves out what Overwinter itself runs, schedules for example, unless a workflow or an id is asked for. */
  hidesInternal?: boolean
}

export interface StartOptions {
  /** Chosen by the caller; makes starting idempotent. */
  id?: string
  /** Like `id`, for callers that have a key but not an id: the same key and workflow give the same run. */
  idempotencyKey?: string
  startAt?: Date | string | number
  delay?: Duration
  tags?: string[]
  /** The W3C `traceparent` of the caller, which the run's trace is linked to. What is none is ignored. */
  traceparent?: string
}

export interface RepeatOptions {
  /** Says that this may be a repeat: what was already done under the key is not done again, and is no conflict. */
  idempotencyKey?: string
}

export interface AskOptions extends RepeatOptions {
  /** How long to wait for the reply. */
  timeout?: Duration
}
