import { recordError } from '../base/error-records.ts'
import { FatalError, TimeoutError } from '../base/errors.ts'
import type { Json } from '../base/json.ts'
import { DEFAULTS, retryDelay } from '../engine/retry.ts'
import type { Task, TaskOutcome } from './task.ts'

/** The transitions of a task, as pure functions: no clock, no store. */

/** A worker's report on its task. */
export type Resolution = {
  /** The attempt and iteration of the worker. Without them the present one is assumed, where that is unambiguous. */
  attempt?: number
  iteration?: number
  /** The worker's own key for this request, the same when it is repeated. */
  key?: string
} & (
  | { action: 'complete'; output?: Json }
  /** `retryable: false` fails the task at once, without another attempt. */
  | { action: 'fail'; error: string; retryable?: boolean }
  | { action: 'pause'; durationMs: number; checkpoint?: Json }
  /** Without data it is a heartbeat. */
  | { action: 'checkpoint'; data?: Json }
  | { action: 'continue'; checkpoint?: Json }
)

export type Refusal = 'not in flight' | 'moved on' | 'ambiguous'

export type Offer =
  | { kind: 'take'; task: Task }
  | { kind: 'settle'; task: Task }
  /** Settled before; the process that settled it may not have notified the run yet. */
  | { kind: 'settled' }
  | { kind: 'not yet'; lookAt: number }

/** A worker asks for it. */
export function offer(task: Task, now: number, worker?: string): Offer {
  if (task.state === 'settled') return { kind: 'settled' }
  const lookAt = task.lookAt ?? now
  if (lookAt > now) return { kind: 'not yet', lookAt }
  if (task.state === 'waiting') return { kind: 'take', task: taken(task, now, worker) }
  if (task.attempt >= attemptsOf(task)) {
    const why = new TimeoutError(
      `no worker finished the task in time: attempt ${task.attempt} of '${task.id}' gave no sign of life for too long`,
    )
    return { kind: 'settle', task: settled(task, { error: recordError(why) }) }
  }
  return { kind: 'take', task: taken({ ...task, attempt: task.attempt + 1, isContested: true }, now, worker) }
}

/**
 * Applies a worker's report. `isNative`: it may have the task from the queue itself, not from a poll. A
 * worker past its deadline is still accepted as long as no other worker has the task.
 */
export function resolve(
  task: Task,
  said: Resolution,
  now: number,
  random: () => number,
  isNative = false,
): { task: Task } | { refusal: Refusal } | 'repeat' {
  if (said.key !== undefined && said.key === task.lastRequest) return 'repeat'
  if (task.state === 'settled') return { refusal: 'not in flight' }
  const isAnother =
    (said.attempt ?? task.attempt) !== task.attempt || (said.iteration ?? task.iteration) !== task.iteration
  if (isAnother) return { refusal: 'moved on' }
  if (task.state === 'waiting' && !(isNative && said.attempt !== undefined && task.lookAt! <= now))
    return { refusal: 'not in flight' }
  const isNamed = said.attempt !== undefined && (task.iteration === 0 || said.iteration !== undefined)
  if (task.isContested && !isNamed) return { refusal: 'ambiguous' }
  return { task: { ...after(task, said, now, random), ...(said.key !== undefined && { lastRequest: said.key }) } }
}

function after(task: Task, said: Resolution, now: number, random: () => number): Task {
  switch (said.action) {
    case 'complete':
      return settled(task, said.output === undefined ? {} : { result: said.output })
    case 'fail': {
      const error =
        said.retryable === false
          ? new FatalError(said.error)
          : Object.assign(new Error(said.error), { stack: undefined })
      const delay = retryDelay(task.policy.retry, task.attempt, error, random, `task '${task.id}'`)
      if (delay === undefined) return settled(task, { error: recordError(error) })
      return waiting({ ...task, attempt: task.attempt + 1 }, now + delay)
    }
    case 'pause':
      return waiting(
        { ...task, ...(said.checkpoint !== undefined && { checkpoint: said.checkpoint }) },
        now + said.durationMs,
      )
    case 'checkpoint':
      return { ...task, ...(said.data !== undefined && { checkpoint: said.data }), lookAt: deadline(task, now) }
    case 'continue': {
      const { maxIterations } = task.policy
      if (task.iteration + 1 >= maxIterations) {
        const why = new FatalError(
          `task '${task.id}' asked for more than its ${maxIterations} iterations; raise maxIterations if that is right`,
        )
        return settled(task, { error: recordError(why) })
      }
      return waiting(
        {
          ...task,
          iteration: task.iteration + 1,
          attempt: 1,
          ...(said.checkpoint !== undefined && { checkpoint: said.checkpoint }),
        },
        now,
      )
    }
  }
}

/** The run has withdrawn it. */
export const withdrawn = (task: Task): Task => settled(task, 'withdrawn')

function settled(task: Task, outcome: TaskOutcome): Task {
  return { ...task, state: 'settled', outcome, lookAt: undefined, checkpoint: undefined }
}

function waiting(task: Task, lookAt: number): Task {
  return { ...task, state: 'waiting', lookAt, takenAt: undefined, takenBy: undefined }
}

function taken(task: Task, now: number, worker: string | undefined): Task {
  return { ...task, state: 'taken', takenAt: now, takenBy: worker, lookAt: deadline({ ...task, takenAt: now }, now) }
}

/** When a worker that stays silent from now on loses the task. */
function deadline({ policy, takenAt = Number.POSITIVE_INFINITY }: Task, now: number): number {
  return Math.min(now + policy.heartbeatMs, takenAt + (policy.timeoutMs ?? Number.POSITIVE_INFINITY))
}

const attemptsOf = ({ policy }: Task): number => policy.retry.attempts ?? DEFAULTS.attempts
