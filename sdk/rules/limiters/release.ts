import type { LimiterId } from '../../flow/limiter/limiter.ts'
import { type Identified, isOfStep } from '../../flow/limiter/queue.ts'
import { type Taken, unreserved, withReturned } from '../../flow/limiter/rate.ts'
import type { Slot } from '../../flow/limiter/slots.ts'
import type { ReleaseOfPermit } from '../../ports/permits.ts'
import type { Wake } from '../../ports/world.ts'
import { type Procedure, together } from '../procedure.ts'
import type { Storage } from '../storage.ts'
import { dispatch, type Look, look } from './dispatch.ts'
import { changeEntry, entriesOfRun, findEntry, removeEntry } from './entries.ts'
import { type InForce, limitOf } from './record.ts'
import { readSlot, slotOf } from './slots.ts'
import { moveHolders, readState, writeState } from './state.ts'

/** A permit that is not wanted any more: held, or still in the queue. */
export type Release = Identified & Pick<ReleaseOfPermit, 'state' | 'slot' | 'cooldownMs'>

/** What a release has to know of the limiter before it writes. */
export interface Ahead {
  limit: InForce
  slot?: Slot
  look?: Look
}

/** May be read before the permit is released: everything is written only as it was read. */
export function* lookAhead(storage: Storage, id: LimiterId, permit: Release): Procedure<Ahead> {
  if (permit.slot === undefined) return { limit: yield* limitOf(storage, id) }
  // Together: every call is time in which the slot is of no use.
  const reads = [limitOf(storage, id), readSlot(storage, id, permit.slot), look(storage, id, permit.lane || undefined)]
  const [limit, slot, seen] = (yield* together<unknown>(reads)) as [InForce, Slot, Look]
  return { limit, slot, look: seen }
}

/** Gives the permit back and dispatches the next. Doing it again is harmless. */
export function* release(storage: Storage, id: LimiterId, permit: Release, known?: Ahead): Procedure<Wake[]> {
  const { state } = permit
  if (state === 'reserved') yield* unreserve(storage, id, permit.holder)
  if (permit.cooldownMs !== undefined) yield* coolDownKey(storage, id, permit.cooldownMs)
  const queued = state === 'queued' ? yield* leaveQueue(storage, id, permit) : undefined
  if (state === 'used') return []
  const ahead = known ?? (queued ? { limit: yield* limitOf(storage, id) } : yield* lookAhead(storage, id, permit))
  const { limit } = ahead
  const slot =
    queued ?? (ahead.slot?.holder === permit.holder ? ahead.slot : yield* heldSlot(storage, id, limit, permit))
  // Without slots there is nothing to pass on. A request that left the queue may have kept others from looking.
  if (!slot && state === 'held') return []
  return (yield* dispatch(storage, id, slot, { limit, ahead: queued ? undefined : ahead.look })).wakes
}

/** Takes a request out of the queue; the slot that it was granted meanwhile. */
function* leaveQueue(storage: Storage, id: LimiterId, permit: Release): Procedure<Slot | undefined> {
  if (!isOfStep(permit.holder)) {
    const entries = yield* entriesOfRun(storage, id, permit)
    yield* together(entries.map(({ key }) => removeEntry(storage, id, key)))
    return undefined
  }
  for (;;) {
    const queued = yield* findEntry(storage, id, permit)
    if (!queued) return undefined
    const { entry, key } = queued
    if (entry.grant === undefined) {
      // Marked first: a process that is about to grant it finds it changed.
      if (!(yield* changeEntry(storage, id, queued, { ...entry, grant: 'withdrawn' }))) continue
    } else if (entry.grant !== 'withdrawn' && entry.grant.slot !== undefined) {
      const slot = yield* readSlot(storage, id, entry.grant.slot)
      yield* unreserve(storage, id, entry.holder, { ...entry, at: entry.grant.at })
      yield* removeEntry(storage, id, key)
      return slot.holder === permit.holder ? slot : undefined
    }
    if (typeof entry.grant === 'object') yield* unreserve(storage, id, entry.holder, { ...entry, at: entry.grant.at })
    yield* removeEntry(storage, id, key)
    return undefined
  }
}

/**
 * A start that was reserved does not begin: others need not wait for it. `unused`: the part of the rate that it
 * returns.
 */
function* unreserve(storage: Storage, id: LimiterId, holder: string, unused?: Taken): Procedure<void> {
  for (;;) {
    const { spec } = yield* limitOf(storage, id)
    const { state, found } = yield* readState(storage, id)
    const isReserved = state.promised?.to === holder
    if (!found || (!isReserved && (!unused || spec.rate === undefined))) return
    const before = isReserved ? unreserved(spec, state, holder, storage.now()) : state
    const next = unused ? withReturned(spec, before, unused, storage.now()) : before
    if (next === state || (yield* writeState(storage, id, next, found))) return
  }
}

function* heldSlot(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  { holder, slot }: Release,
): Procedure<Slot | undefined> {
  if (limit.widest === 0) return undefined
  const held = yield* slotOf(storage, id, holder, limit.widest, slot)
  if (held || slot !== undefined) return held
  // An earlier version may have kept it in the state.
  const seen = yield* readState(storage, id)
  if (!seen.state.holders) return undefined
  yield* moveHolders(storage, id, seen)
  return yield* slotOf(storage, id, holder, limit.widest)
}

function* coolDownKey(storage: Storage, id: LimiterId, ms: number): Procedure<void> {
  for (;;) {
    const { state, found } = yield* readState(storage, id)
    const restUntil = Math.max(state.restUntil ?? 0, storage.now() + ms)
    if (restUntil === state.restUntil || (yield* writeState(storage, id, { ...state, restUntil }, found))) return
  }
}
