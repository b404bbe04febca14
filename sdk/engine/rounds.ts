import { milliseconds } from '../base/duration.ts'
import { InvalidInputError } from '../base/errors.ts'
import type { UntilOptions } from '../context.ts'
import type { Waiting } from '../ports/run.ts'

/** When `ctx.until` asks again. */
export interface Rhythm {
  everyMs: number
  factor: number
  maxMs: number
  timeoutMs: number | undefined
}

/**
 * How far an `until` has got: rounds in vain, and those in a row that threw. A journal cannot forget (I1), so this
 * is kept with the run, among what it waits for, which is written at every suspension anyway. Losing it does no
 * harm: a round comes early.
 */
export interface Rounds {
  readonly vain: number
  readonly failures: number
}

export const NO_ROUNDS: Rounds = Object.freeze({ vain: 0, failures: 0 })

const LONGEST_MS = 3_600_000

export function rhythmOf(options: UntilOptions, what: string): Rhythm {
  const { every, backoff, timeout } = options
  if (every === undefined) throw new InvalidInputError(`${what} needs { every }, the time between two rounds`)
  const everyMs = milliseconds(every, `the time between two rounds of ${what}`)
  const factor = backoff ? (backoff.factor ?? 2) : 1
  if (!(factor >= 1 && Number.isFinite(factor)))
    throw new InvalidInputError(`${what}: backoff.factor must be at least 1, got ${factor}`)
  const maxMs =
    backoff?.max === undefined
      ? Math.max(LONGEST_MS, everyMs)
      : milliseconds(backoff.max, `the longest time between two rounds of ${what}`)
  const timeoutMs = timeout === undefined ? undefined : milliseconds(timeout, `the timeout of ${what}`)
  return { everyMs, factor, maxMs: backoff ? maxMs : everyMs, timeoutMs }
}

/** How long to wait after the nth round in vain. */
export function delayAfter({ everyMs, factor, maxMs }: Rhythm, nth: number): number {
  return Math.min(maxMs, everyMs * factor ** (nth - 1))
}

/** What the record of the run says of an `until`, from its last release or suspension. */
export function keptRounds(
  waitingFor: readonly Waiting[] | undefined,
  id: string,
): { rounds: Rounds; until: number } | undefined {
  const kept = waitingFor?.find((waiting) => waiting.kind === 'until' && waiting.id === id)
  if (kept?.until === undefined) return undefined
  return { rounds: { vain: kept.round ?? 0, failures: kept.failures ?? 0 }, until: kept.until }
}
