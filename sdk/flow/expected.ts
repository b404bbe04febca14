import { type GateState, roomFor } from './gate.ts'
import type { LimitSpec } from './limit.ts'
import type { Ticket } from './line.ts'

/** When the last of these is likely to be let in, who are let in in this order; undefined where nothing is known of how long others stay. */
export function expectedAt(spec: LimitSpec, state: GateState, line: readonly Pick<Ticket, 'cost'>[], now: number): number | undefined {
  const byRate = roomForAll(spec, state, line, now)
  const bySlot = slotFor(spec, state, line.length, now)
  return bySlot === undefined ? undefined : Math.round(Math.max(byRate, bySlot))
}

/** Whole rates take whole periods; what is left goes by what the rate has room for. */
function roomForAll(spec: LimitSpec, state: GateState, line: readonly Pick<Ticket, 'cost'>[], now: number): number {
  const { rate, perMs } = spec
  if (rate === undefined) return roomFor(spec, state, 0, now)
  const needed = line.reduce((sum, { cost }) => sum + Math.min(cost, rate), 0)
  const periods = Math.max(0, Math.ceil(needed / rate) - 1)
  return roomFor(spec, state, needed - periods * rate, now) + periods * perMs!
}

/** Slots are free when those inside are likely to have left, and again as often as others have been in them. */
function slotFor({ concurrency }: LimitSpec, { holders, heldMs, restUntil = 0 }: GateState, place: number, now: number): number | undefined {
  const from = Math.max(now, restUntil)
  const inside = Object.values(holders)
  if (concurrency === undefined || inside.length + place <= concurrency) return from
  if (heldMs === undefined) return undefined
  const leaving = inside.map((since) => Math.max(from, since + heldMs)).toSorted((a, b) => a - b)
  // More may be inside than a lower limit allows: nobody comes for the first of them.
  const tooMany = Math.max(0, inside.length - concurrency)
  const slots = [...Array<number>(concurrency - (inside.length - tooMany)).fill(from), ...leaving.slice(tooMany)]
  return slots[(place - 1) % concurrency]! + Math.floor((place - 1) / concurrency) * heldMs
}
