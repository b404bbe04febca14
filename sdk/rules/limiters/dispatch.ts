import { recordsOf } from '../../flow/limit-record.ts'
import type { LimiterId, LimiterState } from '../../flow/limiter.ts'
import { AHEAD_MS, cooling, isReserved, roomFor, taken } from '../../flow/rate.ts'
import { type Slot, spread } from '../../flow/slots.ts'
import type { GrantedPermit, Wake } from '../../ports.ts'
import { ask, type Procedure, together } from '../procedure.ts'
import type { Storage } from '../storage.ts'
import { nextEntries, type Queued } from './entries.ts'
import { type Granting, grant } from './grant.ts'
import { lookForRoomOf } from './queueing.ts'
import { type InForce, limitOf } from './record.ts'
import { findFree, free, isHeld } from './slots.ts'
import { moveHolders, readState, type Seen, writeState } from './state.ts'

/**
 * Grants whatever there is room for, in the order of the queue. No process watches a queue: a process dispatches when it
 * joins one, releases a slot or changes the limit. No request is overlooked: a request is in the queue before its owner looks for a free slot,
 * and a slot is free before its former holder looks at the queue, so one of the two sees the other. What a crash leaves
 * undone, the next check of the limiter does (I10, `repair.ts`).
 */

/** Starts that one write of the rate's window reserves at most. */
const BATCH = 100
/** How often a dispatcher that meets others at the rate's window tries again. The others dispatch, too. */
const MOST_TRIES = 5
/** How many candidates for one slot are read. */
const LOOK = 5

export interface Dispatched {
  wakes: Wake[]
  /** What was granted, by holder. */
  granted: Map<string, Omit<GrantedPermit, 'holder'>>
}

/** `slot`: of a holder that has released it, for the next one. */
export function* dispatch(storage: Storage, id: LimiterId, slot?: Slot, known?: InForce): Procedure<Dispatched> {
  const limit = known ?? (yield* limitOf(storage, id))
  const into: Dispatched = { wakes: [], granted: new Map() }
  const hasSlots = limit.spec.concurrency !== undefined
  // A slot beyond a lowered limit is for nobody, and any other one for those beyond it.
  const isForNext = hasSlots && !limit.isPaused && limit.widest === limit.spec.concurrency
  if (slot && !isForNext) yield* free(storage, id, slot)
  if (limit.isPaused) return into
  if (slot && isForNext) yield* passToNext(storage, id, limit, slot, into)
  else if (hasSlots) yield* fillSlots(storage, id, limit, into)
  else yield* dispatchRate(storage, id, limit, into)
  return into
}

/** One slot, one grant: those that release others see to them. */
function* passToNext(storage: Storage, id: LimiterId, limit: InForce, released: Slot, into: Dispatched): Procedure<void> {
  let slot: Slot | undefined = released
  const passedOver = new Set<string>()
  while (slot) {
    const { seen, candidates }: Look = yield* look(storage, id, limit, released.lane, released.index, passedOver)
    const [first] = candidates
    if (!first || !mayReserve(storage, limit, seen.state, first)) break
    for (const queued of candidates) {
      const granting: Granting = yield* grantWith(storage, id, limit, seen, queued, slot)
      if (granting.isGranted) return yield* note(storage, queued, granting, into)
      passedOver.add(queued.key)
      slot = granting.slot
      // The slot went another way, and the request looks for room again.
      if (!slot) return yield* fillSlots(storage, id, limit, into)
    }
  }
  if (slot) yield* free(storage, id, slot)
  // A request that came meanwhile found the slot taken.
  yield* fillSlots(storage, id, limit, into)
}

/** As long as there are free slots and requests. */
function* fillSlots(storage: Storage, id: LimiterId, limit: InForce, into: Dispatched): Procedure<void> {
  let served: string | undefined
  const passedOver = new Set<string>()
  for (;;) {
    const { seen, candidates } = yield* look(storage, id, limit, served, 0, passedOver)
    const [queued] = candidates
    if (!queued || !mayReserve(storage, limit, seen.state, queued)) return
    const slot = yield* findFree(storage, id, limit, queued.entry)
    if (!slot) return
    const granting = yield* grantWith(storage, id, limit, seen, queued, slot)
    if (granting.isGranted) yield* note(storage, queued, granting, into)
    else if (granting.slot) {
      passedOver.add(queued.key)
      // One that the request had before may be in use: its owner does not wait any more.
      if (isHeld(granting.slot) && !isHeld(slot)) yield* free(storage, id, granting.slot)
    }
    served = queued.entry.lane
  }
}

interface Look {
  seen: Seen
  candidates: Queued[]
}

/** `passedOver`: requests that this dispatcher could not grant. */
function* look(storage: Storage, id: LimiterId, limit: InForce, served: string | undefined, slot: number, passedOver: ReadonlySet<string>): Procedure<Look> {
  // Where many slots are released at the same time, not all of them are for the first in the queue.
  const width = storage.isContended ? Math.ceil(limit.spec.concurrency! / 10) : 1
  const [seen, found] = (yield* together<unknown>([readState(storage, id), nextEntries(storage, id, served, LOOK + width, passedOver)])) as [Seen, Queued[]]
  if (seen.state.holders) {
    yield* moveHolders(storage, id, seen)
    return yield* look(storage, id, limit, served, slot, passedOver)
  }
  const from = width > 1 ? spread(String(slot)) % Math.min(width, Math.max(1, found.length)) : 0
  return { seen, candidates: [...found.slice(from), ...found.slice(0, from)] }
}

/** Nothing is reserved far ahead while another reservation is out: the limit may change. */
function mayReserve(storage: Storage, limit: InForce, state: LimiterState, { entry }: Queued): boolean {
  const now = storage.now()
  return roomFor(limit.spec, cooling(state, limit.restUntil), entry.cost, now) <= now + AHEAD_MS || !isReserved(state, now)
}

/** Takes its part of the rate first, where there is one. */
function* grantWith(storage: Storage, id: LimiterId, limit: InForce, seen: Seen, queued: Queued, slot: Slot): Procedure<Granting> {
  const now = storage.now()
  const state = cooling(seen.state, limit.restUntil)
  const at = roomFor(limit.spec, state, queued.entry.cost, now)
  if (limit.spec.rate !== undefined || at > now) {
    const next = taken(limit.spec, seen.state, queued.entry, at, now)
    if (!(yield* writeState(storage, id, next, seen.found))) return { isGranted: false, slot }
  }
  return yield* grant(storage, id, limit, queued, slot, at)
}

/** Many at once: one write reserves their starts, and then all are told. */
function* dispatchRate(storage: Storage, id: LimiterId, limit: InForce, into: Dispatched): Procedure<void> {
  const passedOver = new Set<string>()
  for (let tries = 0; tries < MOST_TRIES; ) {
    const seen = yield* readState(storage, id)
    const queue = yield* nextEntries(storage, id, seen.state.lane, BATCH, passedOver)
    if (queue.length === 0) {
      if (passedOver.size === 0) yield* endPause(storage, id, limit)
      return
    }
    const { state, starts } = plan(storage, limit, seen.state, queue)
    if (starts.length === 0) return
    if (state !== seen.state && !(yield* writeState(storage, id, state, seen.found))) {
      tries++
      continue
    }
    const granted = yield* together(starts.map(({ queued, at }) => grant(storage, id, limit, queued, undefined, at)))
    for (const [i, granting] of granted.entries()) {
      const { queued } = starts[i]!
      if (granting.isGranted) yield* note(storage, queued, granting, into)
      else passedOver.add(queued.key)
    }
    if (starts.length < queue.length) return
  }
}

interface Start {
  queued: Queued
  at: number
}

function plan(storage: Storage, { spec, restUntil }: InForce, before: LimiterState, queue: readonly Queued[]): { state: LimiterState; starts: Start[] } {
  const now = storage.now()
  const starts: Start[] = []
  let state = before
  for (const queued of queue) {
    const at = roomFor(spec, cooling(state, restUntil), queued.entry.cost, now)
    if (at > now + AHEAD_MS && isReserved(state, now)) break
    if (spec.rate !== undefined || at > now) state = taken(spec, state, queued.entry, at, now)
    if (queued.entry.lane !== '') state = { ...state, lane: queued.entry.lane }
    starts.push({ queued, at })
  }
  return { state, starts }
}

/** A pause that was resumed is over once its queue is empty: runs that come to it from now on pass. */
function* endPause(storage: Storage, { limit: name }: LimiterId, { ends }: InForce): Procedure<void> {
  if (ends !== undefined) yield* ask(storage.documents.delete(recordsOf(name), name, ends))
}

function* note(storage: Storage, { entry }: Queued, granting: Granting & { isGranted: true }, into: Dispatched): Procedure<void> {
  const { permit, wakes, next } = granting
  into.granted.set(entry.holder, permit)
  into.wakes.push(...wakes)
  if (next) into.wakes.push(...(yield* lookForRoomOf(storage, next, storage.now())))
}
