import type { LimitSpec } from './limit.ts'
import type { LimiterState, Reservation, Used } from './limiter.ts'

/**
 * A rate is a sliding window, counted in pieces that are forgotten whole, one piece later than their time. So it
 * falls short by two pieces, 4 %. A start begins within two seconds of the time that it was granted for (of a
 * period under five seconds, within one piece of it), or asks again and gives its part of the rate back with that.
 */
const PIECES = 50
/** What a runner may need from the grant of a start to its begin. */
const BEGIN_WITHIN_MS = 2_000
/**
 * For so long other requests wait for a start that is late. It takes the next time there is, which must not be
 * theirs by then.
 */
const LATE_MS = 30_000
/** A start that is late waits for so long, in its process, for the next time. */
export const WAIT_HERE_MS = 10_000
/** Two seconds would be much of a shorter period: there a start begins within one piece of it. */
const SHORT_PERIOD_MS = 5_000

/**
 * A start this far ahead is reserved at once. Further ahead one reservation is out at a time, because the limit may
 * change.
 */
export const AHEAD_MS = 1_000

/** A start may be returned twice, by its runner and by one that recovers it: so many are remembered. */
const MOST_RETURNED = 20

const pieceMs = ({ perMs }: LimitSpec): number => perMs! / PIECES

/**
 * The end of the piece of time that a moment is in: by the clock, so that it stays what it is when the limit
 * changes.
 */
function pieceOf(spec: LimitSpec, at: number): number {
  const piece = pieceMs(spec)
  return Math.ceil((Math.floor(at / piece) + 1) * piece)
}

/** Until when a start that was granted for `at` may begin. Later it has to ask the rate again. */
export const validUntil = (spec: LimitSpec, at: number): number =>
  at + (spec.perMs! < SHORT_PERIOD_MS ? Math.floor(pieceMs(spec)) : BEGIN_WITHIN_MS)

/** The state while all keys of its limit are in a cooldown. */
export const cooling = (state: LimiterState, until: number | undefined): LimiterState =>
  until === undefined || until <= (state.restUntil ?? 0) ? state : { ...state, restUntil: until }

/** When the rate has room for it, and the cooldown is over: now or later. */
export function roomFor(spec: LimitSpec, state: LimiterState, cost: number, now: number): number {
  const from = Math.max(now, state.restUntil ?? 0, spec.rate === undefined ? 0 : (state.lastAt ?? 0))
  if (spec.rate === undefined) return from
  // What costs more than there ever is waits for all of it.
  const needed = Math.min(cost, spec.rate)
  const pieces = inForce(state, spec, from)
  const hasLater = pieces.length > 0 && pieces.at(-1)![0] > pieceOf(spec, from)
  if (hasLater) return roomBefore(spec, pieces, needed, from)
  let used = pieces.reduce((sum, [, amount]) => sum + amount, 0)
  let at = from
  for (const [until, amount] of pieces) {
    if (used + needed <= spec.rate) break
    used -= amount
    at = Math.max(at, freedAt(spec, until))
  }
  return at
}

/** Parts of the rate are taken for later times already: the rate has to hold at each of those, too. */
function roomBefore(spec: LimitSpec, pieces: readonly Used[], needed: number, from: number): number {
  const fits = (at: number): boolean => {
    const own = pieceOf(spec, at)
    const sumAt = (time: number, last: number) =>
      pieces.reduce((sum, [until, n]) => (until <= last && freedAt(spec, until) > time ? sum + n : sum), needed)
    if (sumAt(at, own) > spec.rate!) return false
    return pieces.every(([until]) => {
      const begins = until - Math.ceil(pieceMs(spec))
      return until <= own || freedAt(spec, own) <= begins || sumAt(begins, until) <= spec.rate!
    })
  }
  return [from, ...pieces.map(([until]) => freedAt(spec, until))].find((at) => at >= from && fits(at))!
}

/**
 * The state once this much of the rate is taken, for `at`. `to`: the holder of the reservation, where `at` is later
 * than now.
 */
export function taken(
  spec: LimitSpec,
  state: LimiterState,
  { holder, order, cost }: { holder: string; order: number; cost: number },
  at: number,
  now: number,
): LimiterState {
  const next: LimiterState = { ...state }
  if (at > now) next.promised = { to: holder, at, order, ...(cost !== 1 && { cost }) }
  if (spec.rate === undefined) return next
  next.used = withUsed(inForce(state, spec, Math.min(at, now)), pieceOf(spec, at), Math.min(cost, spec.rate))
  next.lastAt = Math.max(state.lastAt ?? 0, at)
  return next
}

/** What one start has taken. */
export interface Taken {
  holder: string
  at: number
  cost: number
}

/** The state once a start that did not begin in time has returned what it took. Returning it twice counts once. */
export function withReturned(
  spec: LimitSpec,
  state: LimiterState,
  { holder, at, cost }: Taken,
  now: number,
): LimiterState {
  if (spec.rate === undefined) return state
  const returned = (state.returned ?? []).filter(([, time]) => time + 2 * spec.perMs! > now).slice(-MOST_RETURNED)
  if (returned.some(([who, time]) => who === holder && time === at)) return state
  const piece = pieceOf(spec, at)
  const there = state.used?.find(([until]) => until === piece)
  const used = there ? withUsed(state.used!, piece, -Math.min(cost, spec.rate, there[1])) : state.used
  return { ...state, ...(used && { used }), ...lastBefore(state, at, now), returned: [...returned, [holder, at]] }
}

/** The latest start does not begin: what comes next need not wait for its time. */
const lastBefore = ({ lastAt }: LimiterState, at: number, now: number): { lastAt?: number } =>
  lastAt === at && at > now ? { lastAt: now } : {}

/** The state without the reservation of this holder, and without what it has taken of the rate if it cannot have begun. */
export function unreserved(
  spec: LimitSpec,
  { promised, ...rest }: LimiterState,
  holder: string,
  now: number,
): LimiterState {
  if (promised?.to !== holder) return promised ? { ...rest, promised } : rest
  return promised.at > now ? withReturned(spec, rest, { holder, at: promised.at, cost: costOf(promised) }, now) : rest
}

/** A reservation is out whose owner will dispatch the next ones. `begun`: who has begun, and does it now. */
export const isReserved = ({ promised }: LimiterState, now: number, begun?: string): boolean =>
  promised !== undefined && promised.to !== begun && promised.at + LATE_MS > now

/** The limit's numbers have changed: what was reserved by the old ones is returned, if its owner waits again. */
export function withoutReservation(
  spec: LimitSpec,
  { lastAt, promised, ...rest }: LimiterState,
  isWaitingAgain: boolean,
  now: number,
): LimiterState {
  // An owner that does not wait again may begin at its time. Which start is the latest is not known then.
  if (promised && !isWaitingAgain) return rest
  const state = { ...rest, ...(lastAt !== undefined && { lastAt: Math.min(lastAt, now) }) }
  if (!promised || spec.rate === undefined || !state.used) return state
  return { ...state, used: withUsed(state.used, state.used.at(-1)![0], -Math.min(costOf(promised), spec.rate)) }
}

const costOf = ({ cost = 1 }: Reservation): number => cost

/** From then on nothing of the state matters. */
export function unusedFrom(spec: LimitSpec, { lastAt, restUntil }: LimiterState, now: number): number {
  return Math.max(now, restUntil ?? 0, lastAt === undefined ? 0 : lastAt + 2 * (spec.perMs ?? 0))
}

const freedAt = (spec: LimitSpec, until: number): number => until + Math.ceil(pieceMs(spec)) + spec.perMs!

/** The pieces that count, in their order. One that was taken by a longer period ends with the latest start at last. */
function inForce({ used = [], lastAt }: LimiterState, spec: LimitSpec, at: number): Used[] {
  const latest = lastAt === undefined ? Number.POSITIVE_INFINITY : pieceOf(spec, lastAt)
  const counted = used.filter(([until]) => freedAt(spec, Math.min(until, latest)) > at)
  if (counted.length === 0 || counted.at(-1)![0] <= latest) return counted
  const beyond = counted.filter(([until]) => until > latest).reduce((sum, [, amount]) => sum + amount, 0)
  return withUsed(
    counted.filter(([until]) => until <= latest),
    latest,
    beyond,
  )
}

/** In their order, also where a piece that is yet to come is there already. */
function withUsed(used: readonly Used[], until: number, amount: number): Used[] {
  const before = used.filter(([other]) => other < until)
  const after = used.filter(([other]) => other > until)
  const there = used.find(([other]) => other === until)?.[1] ?? 0
  const sum = there + amount
  return [...before, ...(sum > 0 ? [[until, sum] satisfies Used] : []), ...after]
}
