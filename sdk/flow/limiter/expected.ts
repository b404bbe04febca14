import type { LimitSpec } from './limit.ts'
import type { LimiterState } from './limiter.ts'
import type { QueueEntry } from './queue.ts'
import { roomFor } from './rate.ts'

/** A limiter as an estimate needs it. `since`: when its slots were taken. */
export interface Occupied extends LimiterState {
  since: readonly number[]
}

/**
 * When the last of these entries is likely to be granted, which are granted in this order; undefined where it is
 * not known how long slots are held.
 */
export function expectedAt(
  spec: LimitSpec,
  state: Occupied,
  queue: readonly Pick<QueueEntry, 'cost'>[],
  now: number,
): number | undefined {
  const byRate = roomForAll(spec, state, queue, now)
  const bySlot = slotFor(spec, state, queue.length, now)
  return bySlot === undefined ? undefined : Math.round(Math.max(byRate, bySlot))
}

/** Whole rates take whole periods; what is left goes by what the rate has room for. */
function roomForAll(spec: LimitSpec, state: Occupied, queue: readonly Pick<QueueEntry, 'cost'>[], now: number): number {
  const { rate, perMs } = spec
  if (rate === undefined) return roomFor(spec, state, 0, now)
  const needed = queue.reduce((sum, { cost }) => sum + Math.min(cost, rate), 0)
  const periods = Math.max(0, Math.ceil(needed / rate) - 1)
  return roomFor(spec, state, needed - periods * rate, now) + periods * perMs!
}

/** Slots become free when their holders are likely to release them, and are then held for as long again. */
function slotFor(
  { concurrency }: LimitSpec,
  { since, heldMs, restUntil = 0 }: Occupied,
  place: number,
  now: number,
): number | undefined {
  const from = Math.max(now, restUntil)
  const held = since
  if (concurrency === undefined || held.length + place <= concurrency) return from
  if (heldMs === undefined) return undefined
  const leaving = held.map((at) => Math.max(from, at + heldMs)).toSorted((a, b) => a - b)
  // More slots may be held than a lowered limit has: the first ones to be released are not granted again.
  const tooMany = Math.max(0, held.length - concurrency)
  const slots = [...Array<number>(concurrency - (held.length - tooMany)).fill(from), ...leaving.slice(tooMany)]
  return slots[(place - 1) % concurrency]! + Math.floor((place - 1) / concurrency) * heldMs
}
