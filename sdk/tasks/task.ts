import type { ErrorRecord } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import type { RetryPolicy } from '../engine/retry.ts'
import type { LimiterId } from '../flow/limiter/limiter.ts'
import type { Message } from '../ports/run.ts'

/** The most bytes of an input, an output or a checkpoint as JSON: the protocol's limit. */
export const MOST_PAYLOAD_BYTES = 1_048_576

/** The retries, timeouts and limits of a task. */
export interface TaskPolicy {
  /** `retryIf` is code, and stays in the process that has it. */
  retry: Omit<RetryPolicy, 'retryIf'>
  /** The longest time for one attempt. */
  timeoutMs?: number
  /** The longest time between two heartbeats of an attempt. */
  heartbeatMs: number
  /** How often a worker may ask for one more iteration of an agent's loop. */
  maxIterations: number
}

/** A task as a run dispatches it. */
export interface NewTask {
  /** `{run}.{step}`, as the protocol defines it. */
  id: string
  runId: string
  /** The operation that waits for it. */
  op: string
  /** When the run was created: an id may be reused once its run is past its retention. */
  life: number
  /** The run's generation: the same step of a later generation is another task with the same id. */
  generation: number
  /** How often an operator has retried the run: each time, open tasks are dispatched anew. */
  round: number
  type: string
  input?: Json
  policy: TaskPolicy
  dispatchedAt: number
  /** The permit it holds. The permit is released when the task ends, whether or not its run still exists. */
  inside?: { gate: LimiterId; holder: string }
}

export type TaskOutcome = { result?: Json } | { error: ErrorRecord } | 'withdrawn'

/**
 * A task in the store, without its input. Each write names the version it read, so that of two concurrent
 * writes only one succeeds.
 */
export interface Task extends Omit<NewTask, 'input'> {
  version: number
  /** `waiting` for a worker or for its time; `taken` by a worker; `settled` for good. */
  state: 'waiting' | 'taken' | 'settled'
  /** From 1. */
  attempt: number
  iteration: number
  /** A worker lost it by silence and may yet report: from then on, each report has to name its attempt. */
  isContested?: boolean
  takenAt?: number
  takenBy?: string
  /** When it changes by itself: a waiting task may be taken then, a taken one is lost to its worker. */
  lookAt?: number
  checkpoint?: Json
  outcome?: TaskOutcome
  /** The key of the last request that changed it, to recognise a repeat. */
  lastRequest?: string
  /** The message that stands for it in this world's queue. */
  receipt?: string
}

export function asWaiting({ input: _, ...task }: NewTask, version: number): Task {
  return { ...task, version, state: 'waiting', attempt: 1, iteration: 0, lookAt: task.dispatchedAt }
}

/**
 * Whether this is a later life of the task, not the same task dispatched before. Tasks of 0.1.0 do not name
 * their life.
 */
export function isNewer(task: Which, than: Which): boolean {
  if (task.life !== undefined && than.life !== undefined && task.life !== than.life) return task.life > than.life
  if (task.life !== undefined && than.life === undefined && task.life > (than.dispatchedAt ?? Number.POSITIVE_INFINITY))
    return true
  return task.generation > than.generation || (task.generation === than.generation && task.round > than.round)
}

type Which = Pick<NewTask, 'generation' | 'round'> & Partial<Pick<NewTask, 'life' | 'dispatchedAt'>>

/** The message to the run. Its id is the same however often it is sent, so the run takes it once. */
export function messageOf({ generation, round, op, attempt, iteration, outcome }: Task): Message | undefined {
  if (outcome === undefined || outcome === 'withdrawn') return undefined
  const address = { id: `task ${generation}.${round} ${op}`, generation, round, op, attempt }
  if ('error' in outcome) return { ...address, kind: 'task.failed', error: outcome.error }
  return { ...address, kind: 'task', iteration, ...(outcome.result !== undefined && { result: outcome.result }) }
}
