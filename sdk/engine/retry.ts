import { type Duration, milliseconds } from '../base/duration.ts'
import { FatalError, InvalidInputError, RetryableError, TimeoutError } from '../base/errors.ts'

export interface RetryPolicy {
  /** How often the step may run in all. Default 3. */
  attempts?: number
  /** The wait after the first failure. Default 1 s. */
  initial?: Duration
  /** By how much each wait grows. Default 2. */
  factor?: number
  /** The longest wait. Default 5 minutes, or `initial` where that is longer. */
  max?: Duration
  /** Spread each wait over its upper half, so that failures do not return in step. Default true. */
  jitter?: boolean
  /** Return false to stop retrying after this error. */
  retryIf?: (error: Error) => boolean
}

export const DEFAULTS = { attempts: 3, initial: 1000, factor: 2, max: 300_000 }

/** When to try again, in milliseconds from now; undefined for never. */
export function retryDelay(
  policy: RetryPolicy,
  attempt: number,
  error: Error,
  random: () => number,
  what: string,
): number | undefined {
  if (error instanceof FatalError) return undefined
  if (attempt >= (policy.attempts ?? DEFAULTS.attempts)) return undefined
  if (policy.retryIf && !(error instanceof TimeoutError) && !policy.retryIf(error)) return undefined
  if (error instanceof RetryableError && error.after !== undefined)
    return milliseconds(error.after, `the 'after' of a RetryableError in ${what}`)
  const initial =
    policy.initial === undefined ? DEFAULTS.initial : milliseconds(policy.initial, `the first backoff of ${what}`)
  const max =
    policy.max === undefined
      ? Math.max(DEFAULTS.max, initial)
      : milliseconds(policy.max, `the longest backoff of ${what}`)
  const delay = Math.min(max, initial * (policy.factor ?? DEFAULTS.factor) ** (attempt - 1))
  return Math.max(1, Math.round(policy.jitter === false ? delay : delay * (0.5 + random() / 2)))
}

export function checkRetryPolicy(policy: RetryPolicy, what: string): void {
  const { attempts, factor } = policy
  if (attempts !== undefined && (!Number.isInteger(attempts) || attempts < 1)) {
    throw new InvalidInputError(`${what}: retry.attempts must be a whole number from 1, got ${attempts}`)
  }
  if (factor !== undefined && !(factor >= 1 && Number.isFinite(factor))) {
    throw new InvalidInputError(`${what}: retry.factor must be at least 1, got ${factor}`)
  }
  if (policy.initial !== undefined) milliseconds(policy.initial, `${what}: retry.initial`)
  if (policy.max !== undefined) milliseconds(policy.max, `${what}: retry.max`)
}
