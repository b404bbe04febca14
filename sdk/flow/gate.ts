import type { LimitSpec } from './limit.ts'

/**
 * A gate is a limit, or one key of it: who is inside, what was let in of late, and whose turn is next. What it decides is worked
 * out here, of its state and the time alone; `rules/gates.ts` reads and writes it.
 */
export interface GateState {
  /** Who is inside, since when. The time may be yet to come: then somebody was promised to be let in. */
  holders: Record<string, number>
  /** How much was let in, by pieces of time, in their order: when the piece ends, and how much. */
  used?: Used[]
  /** The last time for which somebody was let in: nobody who comes later is let in before. */
  lastAt?: number
  /** Who was promised last to be let in later: whoever it is attends to the next when that time comes. */
  promised?: { to: string; at: number; cost?: number; order?: number }
  /** Nobody is let in before: whoever is behind it asked for a rest. */
  restUntil?: number
  /** The lane that was served last. */
  lane?: string
  /** How long holders stay, lately. */
  heldMs?: number
  /** When it was last made sure that every holder is still there. */
  checkedAt?: number
}

/** A run may be in here before it is anywhere else. Nobody takes longer from a slot, or a place among gathered starts, to the run that it is for. */
export const BEING_MADE_MS = 60_000

type Used = [until: number, amount: number]

export const EMPTY: GateState = { holders: {} }

/** A rate is kept over any period of its length. Pieces of it are forgotten whole, so a rate falls short by one of them: 4 %. */
const PIECES = 25

/** What it takes to be let in. */
export interface Wanted {
  holder: string
  order: number
  cost: number
  /** It has to come out again: a slot is taken, or whoever asked must find out later that it was let in. */
  holds: boolean
}

/** Since when it is inside. Ids are anybody's, `constructor` included. */
export const sinceOf = ({ holders }: GateState, holder: string): number | undefined => (Object.hasOwn(holders, holder) ? holders[holder] : undefined)

/** Somebody has to leave first. */
export const isFull = ({ concurrency }: LimitSpec, { holders }: GateState): boolean => concurrency !== undefined && Object.keys(holders).length >= concurrency

/** As it is while all of its limit rests. */
export const resting = (state: GateState, until: number | undefined): GateState =>
  until === undefined || until <= (state.restUntil ?? 0) ? state : { ...state, restUntil: until }

/** When its rate has room for it, now or later. */
export function roomFor(spec: LimitSpec, state: GateState, cost: number, now: number): number {
  const from = Math.max(now, state.restUntil ?? 0, spec.rate === undefined ? 0 : (state.lastAt ?? 0))
  if (spec.rate === undefined) return from
  // What costs more than is ever there waits for all of it.
  const needed = Math.min(cost, spec.rate)
  const pieces = inForce(state, spec, from)
  let used = pieces.reduce((sum, [, amount]) => sum + amount, 0)
  let at = from
  for (const [until, amount] of pieces) {
    if (used + needed <= spec.rate) break
    used -= amount
    at = Math.max(at, until + spec.perMs!)
  }
  return at
}

export function letIn(spec: LimitSpec, state: GateState, { holder, order, cost, holds }: Wanted, at: number, lane: string, now: number): GateState {
  const next: GateState = { ...state }
  if (at > now) next.promised = { to: holder, at, order, ...(cost !== 1 && { cost }) }
  if (holds) next.holders = { ...state.holders, [holder]: at }
  if (lane !== '') next.lane = lane
  if (spec.rate === undefined) return next
  next.used = withUsed(inForce(state, spec, Math.min(at, now)), pieceOf(spec, at), Math.min(cost, spec.rate))
  next.lastAt = at
  return next
}

/** The end of the piece of time that a moment is in. By the clock, so that other numbers can be put in its place while it counts. */
function pieceOf({ perMs }: LimitSpec, at: number): number {
  const piece = perMs! / PIECES
  return Math.ceil((Math.floor(at / piece) + 1) * piece)
}

/** In their order, also where a piece that is yet to come is there already. */
function withUsed(used: readonly Used[], until: number, amount: number): Used[] {
  const before = used.filter(([other]) => other < until)
  const after = used.filter(([other]) => other > until)
  const there = used.find(([other]) => other === until)?.[1] ?? 0
  const sum = there + amount
  return [...before, ...(sum > 0 ? [[until, sum] satisfies Used] : []), ...after]
}

export function letOut(before: GateState, holder: string, now: number): GateState {
  const { promised, ...rest } = before
  const state = promised?.to === holder ? rest : before
  const since = sinceOf(state, holder)
  if (since === undefined) return state
  const { [holder]: _, ...holders } = state.holders
  const held = Math.max(0, now - since)
  return { ...state, holders, heldMs: Math.round(state.heldMs === undefined ? held : state.heldMs * 0.8 + held * 0.2) }
}

/** Somebody has been promised to be let in, and will see to those behind when that time comes. */
export const hasPromised = ({ promised }: GateState, now: number): boolean => promised !== undefined && promised.at > now

/** What was said of times to come does not count any more. `isTakenBack`: whoever was promised one does not come in then. */
export function afresh(spec: LimitSpec, { lastAt: _, promised, ...before }: GateState, isTakenBack: boolean): GateState {
  if (!promised || !isTakenBack) return before
  const { [promised.to]: __, ...holders } = before.holders
  const state = { ...before, holders }
  if (spec.rate === undefined || !state.used) return state
  const used = withUsed(state.used, state.used.at(-1)![0], -Math.min(promised.cost ?? 1, spec.rate))
  return { ...state, used }
}

/** Nothing of it matters from then on; undefined while somebody is inside. */
export function emptyFrom(spec: LimitSpec, { holders, lastAt, restUntil }: GateState, now: number): number | undefined {
  if (Object.keys(holders).length > 0) return undefined
  return Math.max(now, restUntil ?? 0, lastAt === undefined ? 0 : lastAt + 2 * (spec.perMs ?? 0)) + KEPT_MS
}
/** How long it stays that way is still of interest to people. */
const KEPT_MS = 3_600_000

function inForce({ used = [] }: GateState, { perMs }: LimitSpec, at: number): Used[] {
  return used.filter(([until]) => until + perMs! > at)
}
