import type { ErrorRecord } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import type { RetryPolicy } from '../engine/retry.ts'
import type { LimiterId } from '../flow/limiter/limiter.ts'
import type { Message } from '../ports/run.ts'

/** What an input, an output or a checkpoint may weigh as JSON: the protocol's limit. */
export const MOST_PAYLOAD_BYTES = 1_048_576

/** How a worker's task is tried, timed and given up. */
export interface TaskPolicy {
  /** `retryIf` is code, and stays in the process that has it. */
  retry: Omit<RetryPolicy, 'retryIf'>
  /** The longest an attempt may take in all. */
  timeoutMs?: number
  /** The longest an attempt may go without a sign of life. */
  heartbeatMs: number
  /** How often a worker may ask for one more round of an agent's loop. */
  maxIterations: number
}

/** A task as a run hands it out. */
export interface NewTask {
  /** `{run}.{step}`, as the protocol has it. */
  id: string
  runId: string
  /** The operation that waits for it. */
  op: string
  /** When the run was created: an id may be used again once its run is past its retention. */
  life: number
  /** Of the run: the same step of a later generation is another task under the same id. */
  generation: number
  /** How often an operator has let the run go on: each time, what was open is handed out anew. */
  round: number
  type: string
  input?: Json
  policy: TaskPolicy
  dispatchedAt: number
  /** What it was let in to. Its end is the end of that, whether its run is there to hear of it or not. */
  inside?: { gate: LimiterId; holder: string }
}

export type TaskOutcome = { result?: Json } | { error: ErrorRecord } | 'withdrawn'

/** A task in the store, without its input. Whoever changes it says which version was seen, so that of two only one succeeds. */
export interface Task extends Omit<NewTask, 'input'> {
  version: number
  /** `waiting` for a worker or for its time; `taken` by one; `settled` for good. */
  state: 'waiting' | 'taken' | 'settled'
  /** From 1. */
  attempt: number
  iteration: number
  /** A worker lost it by silence and may yet speak up: from then on, each has to say which attempt it has. */
  isContested?: boolean
  takenAt?: number
  takenBy?: string
  /** When somebody has to look at it: a waiting one may be taken then, a taken one is lost to its worker. */
  lookAt?: number
  checkpoint?: Json
  outcome?: TaskOutcome
  /** The key of the last request that changed it, to recognise a repeat. */
  lastRequest?: string
  /** How the queue of this world finds the message that stands for it. */
  receipt?: string
}

export function asWaiting({ input: _, ...task }: NewTask, version: number): Task {
  return { ...task, version, state: 'waiting', attempt: 1, iteration: 0, lookAt: task.dispatchedAt }
}

/** The same task, handed out before, or one of a later life of its step? Tasks of 0.1.0 do not say which life they are of. */
export function isNewer(task: Which, than: Which): boolean {
  if (task.life !== undefined && than.life !== undefined && task.life !== than.life) return task.life > than.life
  if (task.life !== undefined && than.life === undefined && task.life > (than.dispatchedAt ?? Number.POSITIVE_INFINITY))
    return true
  return task.generation > than.generation || (task.generation === than.generation && task.round > than.round)
}

type Which = Pick<NewTask, 'generation' | 'round'> & Partial<Pick<NewTask, 'life' | 'dispatchedAt'>>

/** What the run hears of it, once: the message's id is the same however often it is sent. */
export function messageOf({ generation, round, op, attempt, iteration, outcome }: Task): Message | undefined {
  if (outcome === undefined || outcome === 'withdrawn') return undefined
  const address = { id: `task ${generation}.${round} ${op}`, generation, round, op, attempt }
  if ('error' in outcome) return { ...address, kind: 'task.failed', error: outcome.error }
  return { ...address, kind: 'task', iteration, ...(outcome.result !== undefined && { result: outcome.result }) }
}
