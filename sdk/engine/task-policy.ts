import { milliseconds } from '../base/duration.ts'
import { InvalidInputError } from '../base/errors.ts'
import type { TaskOptions } from '../context.ts'
import type { TaskPolicy } from '../tasks/task.ts'
import { checkRetryPolicy } from './retry.ts'

const DEFAULT_HEARTBEAT_MS = 300_000
const DEFAULT_ITERATIONS = 100

/**
 * The options of `ctx.task` as the store keeps them: data only, every default filled in that a later version might
 * change.
 */
export function taskPolicy(
  { retry = {}, timeout, heartbeatTimeout, maxIterations = DEFAULT_ITERATIONS }: TaskOptions,
  what: string,
): TaskPolicy {
  checkRetryPolicy(retry, what)
  if ('retryIf' in retry) {
    throw new InvalidInputError(
      `${what}: retryIf is a function and cannot go to a worker; let the worker say \`retryable: false\` when it fails`,
    )
  }
  if (!Number.isInteger(maxIterations) || maxIterations < 1) {
    throw new InvalidInputError(`${what}: maxIterations must be a whole number from 1, got ${maxIterations}`)
  }
  const timeoutMs = timeout === undefined ? undefined : milliseconds(timeout, `the timeout of ${what}`)
  const heartbeatMs =
    heartbeatTimeout === undefined
      ? (timeoutMs ?? DEFAULT_HEARTBEAT_MS)
      : milliseconds(heartbeatTimeout, `the heartbeatTimeout of ${what}`)
  return { retry, heartbeatMs, maxIterations, ...(timeoutMs !== undefined && { timeoutMs }) }
}
