import type { Json } from '../../base/json.ts'
import { type LimiterId, slotsOf } from '../../flow/limiter/limiter.ts'
import type { QueueEntry } from '../../flow/limiter/queue.ts'
import {
  averageHeld,
  blockOf,
  blocksOf,
  FREE_SLOT_KEPT_MS,
  SLOTS_PER_BLOCK,
  type Slot,
  type SlotState,
  slotKey,
  spread,
} from '../../flow/limiter/slots.ts'
import type { Document } from '../../ports/documents.ts'
import { ask, type Procedure, together } from '../procedure.ts'
import type { Storage } from '../storage.ts'
import type { InForce } from './record.ts'

/**
 * The slots of a limiter. A slot is written only as it was read, and by its number: whatever crashes or comes twice, no
 * more are held than there are. A limit that was lowered may have holders in higher slots (surplus): while there are
 * any, nothing is granted, and free slots are for them.
 */

const FREE: SlotState = { holder: '', since: 0 }
/** How often a request that meets others at the same slots tries another one. */
const MOST_TRIES = 4

export const isHeld = ({ holder }: SlotState): boolean => holder !== ''

/** Slots that have a document, held or free. */
export function* readBlock(storage: Storage, id: LimiterId, block: number): Procedure<Slot[]> {
  return (yield* ask(storage.documents.list(slotsOf(id, block)))).map(toSlot)
}

/** All slots with numbers below `widest` that have a document. */
export function* readSlots(storage: Storage, id: LimiterId, widest: number): Procedure<Slot[]> {
  const blocks = Array.from({ length: blocksOf(widest) }, (_, block) => readBlock(storage, id, block))
  return (yield* together(blocks)).flat()
}

export function* readSlot(storage: Storage, id: LimiterId, index: number): Procedure<Slot> {
  const found = yield* ask(storage.documents.get(slotsOf(id, blockOf(index)), slotKey(index)))
  return found ? toSlot(found) : { ...FREE, index, version: 0 }
}

/** The slot of this holder. `index`: where it was last known to be; a lowered limit may have moved it. */
export function* slotOf(
  storage: Storage,
  id: LimiterId,
  holder: string,
  widest: number,
  index?: number,
): Procedure<Slot | undefined> {
  const known = index === undefined ? undefined : yield* readSlot(storage, id, index)
  if (known?.holder === holder) return known
  return (yield* readSlots(storage, id, widest)).find((slot) => slot.holder === holder)
}

/** Undefined where the slot is not as it was read. */
export function* writeSlot(
  storage: Storage,
  id: LimiterId,
  { index, version }: Slot,
  next: SlotState,
): Procedure<Slot | undefined> {
  const options = { ifVersion: version, ...(!isHeld(next) && { expiresAt: storage.now() + FREE_SLOT_KEPT_MS }) }
  const written = yield* ask(
    storage.documents.put(slotsOf(id, blockOf(index)), slotKey(index), next as unknown as Json, options),
  )
  return written && { ...next, index, version: written.version }
}

/**
 * The slot with its next holder. A slot that the request has already is written too: no other process passes it on
 * then.
 */
export function* passOn(
  storage: Storage,
  id: LimiterId,
  slot: Slot,
  entry: Pick<QueueEntry, 'holder' | 'lane'>,
): Procedure<Slot | undefined> {
  const now = storage.now()
  const heldMs = slot.holder === entry.holder ? slot.heldMs : heldUntil(slot, now)
  return yield* writeSlot(storage, id, slot, stay(entry, now, heldMs))
}

/** The slot without a holder. */
export function* free(storage: Storage, id: LimiterId, slot: Slot): Procedure<boolean> {
  const now = storage.now()
  const heldMs = heldUntil(slot, now)
  const next = { holder: '', since: now, ...(heldMs !== undefined && { heldMs }) }
  return (yield* writeSlot(storage, id, slot, next)) !== undefined
}

const heldUntil = (slot: Slot, now: number): number | undefined =>
  isHeld(slot) ? averageHeld(slot.heldMs, slot.since, now) : slot.heldMs

function stay(
  { holder, lane }: Pick<QueueEntry, 'holder' | 'lane'>,
  since: number,
  heldMs: number | undefined,
): SlotState {
  return { holder, since, ...(lane !== '' && { lane }), ...(heldMs !== undefined && { heldMs }) }
}

/** Takes a free slot for this request; the one that it has already, where it asks again. Undefined: none is free. */
export function* takeFree(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  entry: QueueEntry,
): Procedure<TakenSlot | undefined> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const found = yield* findFree(storage, id, limit, entry, tries)
    if (!found) return undefined
    if (found.holder === entry.holder) return { slot: found, isNew: false }
    const slot = yield* writeSlot(storage, id, found, stay(entry, storage.now(), found.heldMs))
    if (slot) return { slot, isNew: true }
  }
  return undefined
}

export interface TakenSlot {
  slot: Slot
  /** The request did not have it before. Otherwise another process may have notified its owner of it. */
  isNew: boolean
}

/** A free slot for this request, as it is; or the one that it has already. Undefined: none is free. */
export function* findFree(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  entry: QueueEntry,
  tries = 0,
): Procedure<Slot | undefined> {
  const concurrency = limit.spec.concurrency!
  if (limit.widest > concurrency && (yield* hasSurplus(storage, id, limit))) return undefined
  const blocks = blocksOf(concurrency)
  const first = spread(entry.holder) % blocks
  for (let n = 0; n < blocks; n++) {
    const block = (first + n) % blocks
    const there = yield* readBlock(storage, id, block)
    const own = there.find(({ holder }) => holder === entry.holder)
    if (own) return own
    const free = freeIn(block, there, concurrency)
    // Where others write at the same time, not all of them begin with the first.
    if (free.length > 0) return free[storage.isContended ? spread(`${entry.holder} ${tries}`) % free.length : 0]
  }
  return undefined
}

function freeIn(block: number, there: readonly Slot[], concurrency: number): Slot[] {
  const known = new Map(there.map((slot) => [slot.index, slot]))
  const from = block * SLOTS_PER_BLOCK
  const size = Math.min(SLOTS_PER_BLOCK, concurrency - from)
  const all = Array.from({ length: size }, (_, i) => known.get(from + i) ?? { ...FREE, index: from + i, version: 0 })
  return all.filter((slot) => !isHeld(slot))
}

/** Moves holders of slots beyond the limit into free ones; true if some are left. */
export function* hasSurplus(storage: Storage, id: LimiterId, limit: InForce): Procedure<boolean> {
  const concurrency = limit.spec.concurrency!
  const slots = yield* readSlots(storage, id, limit.widest)
  const surplus = slots.filter((slot) => isHeld(slot) && slot.index >= concurrency)
  if (surplus.length === 0) return false
  const within = new Set(slots.filter((slot) => isHeld(slot) && slot.index < concurrency).map(({ holder }) => holder))
  const places = Array.from({ length: blocksOf(concurrency) }, (_, block) =>
    freeIn(
      block,
      slots.filter(({ index }) => blockOf(index) === block),
      concurrency,
    ),
  ).flat()
  let left = 0
  for (const slot of surplus) {
    // The process that moved it died before the old slot was free.
    const isMoved = within.has(slot.holder) || (yield* moveTo(storage, id, places, slot))
    if (isMoved) yield* free(storage, id, slot)
    else left++
  }
  return left > 0
}

function* moveTo(
  storage: Storage,
  id: LimiterId,
  places: Slot[],
  { holder, since, lane, heldMs }: Slot,
): Procedure<boolean> {
  for (let place = places.shift(); place; place = places.shift()) {
    const moved = { holder, since, ...(lane !== undefined && { lane }), ...(heldMs !== undefined && { heldMs }) }
    if (yield* writeSlot(storage, id, place, moved)) return true
  }
  return false
}

const toSlot = ({ key, value, version }: Document): Slot => ({
  ...(value as unknown as SlotState),
  index: Number(key),
  version,
})
