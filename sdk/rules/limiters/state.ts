import type { Json } from '../../base/json.ts'
import { LIMITS, type LimitRecord } from '../../flow/limiter/limit-record.ts'
import {
  CHECK_EVERY_MS,
  CHECK_IDLE_EVERY_MS,
  type LimiterId,
  type LimiterState,
  limiterKey,
  limitersOf,
} from '../../flow/limiter/limiter.ts'
import type { Document } from '../../ports/documents.ts'
import { ask, type Procedure } from '../procedure.ts'
import type { Storage } from '../storage.ts'
import { type InForce, limitOf } from './record.ts'
import { isHeld, readSlots, writeSlot } from './slots.ts'

/** A limiter's state as it was read. */
export interface Seen {
  state: LimiterState
  found: Document | undefined
}

export function* readState(storage: Storage, id: LimiterId): Procedure<Seen> {
  const found = yield* ask(storage.documents.get(limitersOf(id.limit), limiterKey(id)))
  return { state: (found?.value as LimiterState | undefined) ?? {}, found }
}

/**
 * Undefined where the state is not as it was read. I10: while a limiter is in use it is due at some time; `dueAt`
 * for another one than before.
 */
export function* writeState(
  storage: Storage,
  id: LimiterId,
  next: LimiterState,
  found: Document | undefined,
  dueAt?: number,
): Procedure<Document | undefined> {
  if (found?.unreadable) return yield* keepDue(storage, id, found, dueAt)
  const due = dueAt ?? found?.dueAt ?? storage.now() + CHECK_IDLE_EVERY_MS
  const options = { ifVersion: found?.version ?? 0, dueAt: due }
  return yield* ask(storage.documents.put(limitersOf(id.limit), limiterKey(id), next as unknown as Json, options))
}

/**
 * A state that cannot be read stays as it is stored, for a person to look at. Only the time of its next check
 * moves.
 */
function* keepDue(
  storage: Storage,
  id: LimiterId,
  found: Document,
  dueAt: number | undefined,
): Procedure<Document | undefined> {
  const due = dueAt ?? found.dueAt ?? storage.now() + CHECK_EVERY_MS
  if (due === found.dueAt) return found
  const options = { ifVersion: found.version, dueAt: due }
  return yield* ask(storage.documents.put(limitersOf(id.limit), limiterKey(id), found.unreadable!.stored, options))
}

/** I10: the limiter is due at `by` at the latest. One write for the first that waits, none for the others. */
export function* checkBy(storage: Storage, id: LimiterId, by: number, seen?: Seen): Procedure<void> {
  let { state, found } = seen ?? (yield* readState(storage, id))
  while (found?.dueAt === undefined || found.dueAt > by) {
    if (yield* writeState(storage, id, state, found, by)) return
    ;({ state, found } = yield* readState(storage, id))
  }
}

/** Earlier versions kept the holders in the state. Each gets a slot; then the state forgets them. */
export function* moveHolders(storage: Storage, id: LimiterId, seen: Seen): Procedure<void> {
  const { holders = {}, heldMs: _, ...state } = seen.state
  if (!seen.state.holders) return
  const limit = yield* limitOf(storage, id)
  if (limit.spec.concurrency !== undefined) yield* intoSlots(storage, id, limit, Object.entries(holders))
  yield* writeState(storage, id, state, seen.found)
}

function* intoSlots(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  holders: readonly [string, number][],
): Procedure<void> {
  const widest = Math.max(limit.widest, holders.length)
  if (widest > limit.widest) yield* widen(storage, id.limit, widest)
  const slots = yield* readSlots(storage, id, widest)
  const known = new Set(slots.map(({ holder }) => holder))
  const taken = new Map(slots.filter(isHeld).map((slot) => [slot.index, slot]))
  let index = 0
  for (const [holder, since] of holders) {
    if (known.has(holder)) continue
    while (taken.has(index)) index++
    const version = slots.find((slot) => slot.index === index)?.version ?? 0
    yield* writeSlot(storage, id, { holder: '', since: 0, index, version }, { holder, since })
    index++
  }
}

function* widen(storage: Storage, limit: string, widest: number): Procedure<void> {
  const found = yield* ask(storage.documents.get(LIMITS, limit))
  if (!found || found.unreadable) return
  const record = { ...(found.value as unknown as LimitRecord), widest }
  yield* ask(storage.documents.put(LIMITS, limit, record as unknown as Json, { ifVersion: found.version }))
}
