import type { LimitSpec } from './limit.ts'

/**
 * A gate is a limit, or one key of it: who is inside, what was let in of late, and whose turn is next. What it decides is worked
 * out here, of its state and the time alone; `rules/gates.ts` reads and writes it.
 */
export interface GateState {
  /** Who is inside, since when. The time may be yet to come: then somebody was promised to be let in. */
  holders: Record<string, number>
  /** How much was let in, by pieces of time: the number of the piece, and how much. */
  used?: [piece: number, amount: number][]
  /** The last time for which somebody was let in: nobody who comes later is let in before. */
  lastAt?: number
  /** Who was promised last to be let in later: whoever it is attends to the next when that time comes. */
  promised?: { to: string; at: number }
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

export const EMPTY: GateState = { holders: {} }

/** A rate is kept over any period of its length. Pieces of it are forgotten whole, so a rate falls short by one of them: 4 %. */
const PIECES = 25

/** What it takes to be let in. */
export interface Wanted {
  holder: string
  cost: number
  /** It has to come out again: a slot is taken, or whoever asked must find out later that it was let in. */
  holds: boolean
}

/** Somebody has to leave first. */
export const isFull = ({ concurrency }: LimitSpec, { holders }: GateState): boolean => concurrency !== undefined && Object.keys(holders).length >= concurrency

/** When its rate has room for it, now or later. */
export function roomFor(spec: LimitSpec, state: GateState, cost: number, now: number): number {
  const from = Math.max(now, state.restUntil ?? 0, spec.rate === undefined ? 0 : (state.lastAt ?? 0))
  if (spec.rate === undefined) return from
  // What costs more than is ever there waits for all of it.
  const needed = Math.min(cost, spec.rate)
  const piece = spec.perMs! / PIECES
  const pieces = inForce(state, spec, from)
  let used = pieces.reduce((sum, [, amount]) => sum + amount, 0)
  let at = from
  for (const [index, amount] of pieces) {
    if (used + needed <= spec.rate) break
    used -= amount
    at = Math.max(at, Math.ceil((index + 1) * piece + spec.perMs!))
  }
  return at
}

export function letIn(spec: LimitSpec, state: GateState, { holder, cost, holds }: Wanted, at: number, lane: string, now: number): GateState {
  const next: GateState = { ...state }
  if (at > now) next.promised = { to: holder, at }
  if (holds) next.holders = { ...state.holders, [holder]: at }
  if (lane !== '') next.lane = lane
  if (spec.rate === undefined) return next
  const index = Math.floor(at / (spec.perMs! / PIECES))
  const used = inForce(state, spec, at)
  const last = used.at(-1)
  const amount = Math.min(cost, spec.rate)
  next.used = last?.[0] === index ? [...used.slice(0, -1), [index, last[1] + amount]] : [...used, [index, amount]]
  next.lastAt = at
  return next
}

export function letOut(before: GateState, holder: string, now: number): GateState {
  const { promised, ...rest } = before
  const state = promised?.to === holder ? rest : before
  const { [holder]: since, ...holders } = state.holders
  if (since === undefined) return state
  const held = Math.max(0, now - since)
  return { ...state, holders, heldMs: Math.round(state.heldMs === undefined ? held : state.heldMs * 0.8 + held * 0.2) }
}

/** Somebody has been promised to be let in, and will see to those behind when that time comes. */
export const hasPromised = ({ promised }: GateState, now: number): boolean => promised !== undefined && promised.at > now

/** What was said of times to come does not count any more: somebody has changed the limit. */
export function afresh({ lastAt: _, promised: __, restUntil: ___, ...state }: GateState): GateState {
  return state
}

/** Nothing of it matters from then on; undefined while somebody is inside. */
export function emptyFrom(spec: LimitSpec, { holders, lastAt, restUntil }: GateState, now: number): number | undefined {
  if (Object.keys(holders).length > 0) return undefined
  return Math.max(now, restUntil ?? 0, lastAt === undefined ? 0 : lastAt + 2 * (spec.perMs ?? 0)) + KEPT_MS
}
/** How long it stays that way is still of interest to people. */
const KEPT_MS = 3_600_000

function inForce({ used = [] }: GateState, { perMs }: LimitSpec, at: number): [number, number][] {
  const piece = perMs! / PIECES
  return used.filter(([index]) => (index + 1) * piece + perMs! > at)
}
