import { InvalidInputError } from './errors.ts'

type Unit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w'
type Part = `${number}${Unit}`
/**
 * What code writes down, with two parts at most: all the compiler can multiply out. Text from elsewhere (`text as
 * Duration`) is checked where it is used.
 */
type DurationText = Part | `${number} ${Unit}` | `${Part}${'' | ' '}${Part}`

/** `'30s'`, `'1h 30m'`, milliseconds, or `{ hours: 24 }`. */
export type Duration =
  | DurationText
  | number
  | { days?: number; hours?: number; minutes?: number; seconds?: number; milliseconds?: number }

const UNIT_MS: Record<Unit, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}
const FIELD_MS: Record<string, number> = {
  days: UNIT_MS.d,
  hours: UNIT_MS.h,
  minutes: UNIT_MS.m,
  seconds: 1000,
  milliseconds: 1,
}

export const MAX_WAIT_MS = 365 * UNIT_MS.d
/** Waits above this are legal but worth a second look, so they are reported. */
export const LONG_WAIT_MS = 30 * UNIT_MS.d

/** Milliseconds of a duration; `what` names the thing in the error, as in "the sleep 'cool-off'". */
export function milliseconds(duration: Duration, what: string): number {
  const ms = finite(duration, what)
  if (ms <= 0) throw new InvalidInputError(`${what}: a duration must be positive, got ${show(duration)}`)
  return ms
}

/** The same for a wait that code may have worked out to be none at all. */
export function millisecondsOrZero(duration: Duration, what: string): number {
  const ms = finite(duration, what)
  if (ms < 0)
    throw new InvalidInputError(
      `${what}: a duration must not be negative, got ${show(duration)}; for a time that may have passed, ` +
        'use ctx.sleepUntil or Math.max(0, …)',
    )
  return ms
}

function finite(duration: Duration, what: string): number {
  const ms = Math.round(parse(duration, what))
  if (!Number.isFinite(ms))
    throw new InvalidInputError(`${what}: ${show(duration)} is not a duration; see what it was worked out from`)
  if (ms > MAX_WAIT_MS)
    throw new InvalidInputError(
      `${what}: a duration may be at most 365 days, got ${show(duration)}; for more, wait several times`,
    )
  return ms
}

/** The epoch milliseconds of a point in time. One that has passed is fine: it is due at once. */
export function pointInTime(date: Date | string | number, now: number, what: string): number {
  const ms = date instanceof Date ? date.getTime() : typeof date === 'number' ? date : Date.parse(date)
  if (!Number.isFinite(ms))
    throw new InvalidInputError(
      `${what}: ${show(date)} is not a point in time; give a Date, milliseconds since 1970, or a text such ` +
        "as '2027-01-31T09:00:00Z'",
    )
  if (ms - now > MAX_WAIT_MS)
    throw new InvalidInputError(
      `${what}: ${new Date(ms).toISOString()} is more than 365 days away; wait until something sooner first`,
    )
  return ms
}

/** A moment in the past: a point in time, or how long ago it was, as in `'2h'`. */
export function pastMoment(given: Date | string | number, now: number, what: string): number {
  if (typeof given === 'string' && DURATION.test(given)) return now - milliseconds(given as Duration, what)
  try {
    return pointInTime(given, Number.POSITIVE_INFINITY, what)
  } catch {
    throw new InvalidInputError(
      `${what}: ${show(given)} is neither a point in time, such as '2027-01-31T09:00:00Z', nor how long ` +
        "ago, such as '2h'",
    )
  }
}

function parse(duration: Duration, what: string): number {
  if (typeof duration === 'number') return duration
  if (typeof duration === 'string') return parseText(duration, what)
  if (typeof duration !== 'object' || duration === null) throw malformed(duration, what)
  let total = 0
  for (const [field, amount] of Object.entries(duration)) {
    const unit = FIELD_MS[field]
    if (unit === undefined || typeof amount !== 'number') throw malformed(duration, what)
    total += amount * unit
  }
  return total
}

/** Code asks for the same few durations again and again, above all in replay. */
const parsed = new Map<string, number>()
const REMEMBERED = 1_000

const DURATION = /^\s*(-?\d+(\.\d+)?\s*(ms|[smhdw])\s*)+$/

function parseText(text: string, what: string): number {
  const known = parsed.get(text)
  if (known !== undefined) return known
  if (!DURATION.test(text)) throw malformed(text, what)
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(-?\d+(?:\.\d+)?)\s*(ms|[smhdw])/g))
    total += Number(amount) * UNIT_MS[unit as Unit]
  if (parsed.size < REMEMBERED) parsed.set(text, total)
  return total
}

function malformed(value: unknown, what: string): InvalidInputError {
  return new InvalidInputError(
    `${what}: ${show(value)} is not a duration; write '30s', '15m', '24h', '7d', milliseconds, or { hours: 24 }`,
  )
}

function show(value: unknown): string {
  if (value instanceof Date) return 'an invalid Date'
  return typeof value === 'object' ? JSON.stringify(value) : typeof value === 'string' ? `'${value}'` : String(value)
}
