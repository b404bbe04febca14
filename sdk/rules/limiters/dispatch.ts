import { recordsOf } from '../../flow/limiter/limit-record.ts'
import type { LimiterId, LimiterState } from '../../flow/limiter/limiter.ts'
import { AHEAD_MS, cooling, isReserved, roomFor, taken } from '../../flow/limiter/rate.ts'
import { type Slot, spread } from '../../flow/limiter/slots.ts'
import type { GrantedPermit } from '../../ports/permits.ts'
import type { Wake } from '../../ports/world.ts'
import { ask, type Procedure, together } from '../procedure.ts'
import type { Storage } from '../storage.ts'
import { nextEntries, type Queued, removeEntry } from './entries.ts'
import { type Granted, type Granting, grant } from './grant.ts'
import { lookForRoomOf } from './queueing.ts'
import { type InForce, limitOf } from './record.ts'
import { findFree, free, isHeld } from './slots.ts'
import { moveHolders, readState, type Seen, writeState } from './state.ts'

/**
 * Grants as much as there is room for, in the order of the queue. No process watches a queue: a process dispatches
 * when it joins one, releases a slot or changes the limit. No request is overlooked: a request is in the queue
 * before its owner looks for a free slot, and a slot is free before its former holder looks at the queue, so one of
 * the two sees the other. What a crash leaves unfinished, the next check of the limiter does (I10, `repair.ts`).
 */

/** Starts that one write of the rate's window reserves at most. */
const BATCH = 100
/** How often a dispatcher that meets others at the rate's window tries again. The others dispatch, too. */
const MOST_TRIES = 5
/** How many candidates for one slot are read, and over how many of them slots that are released at once are spread. */
const LOOK = 25
const MOST_SPREAD = 20

export interface Dispatched {
  wakes: Wake[]
  /** What was granted, by holder. */
  granted: Map<string, Omit<GrantedPermit, 'holder'>>
}

interface Into extends Dispatched {
  begun: string | undefined
}

/** What the one who dispatches knows. */
export interface Dispatching {
  limit?: InForce
  /** What was seen of the queue along with the slot. */
  ahead?: Look | undefined
  /** The owner of a reservation who has begun: others wait for it no longer. */
  begun?: string
}

/** `slot`: of a holder that has released it, for the next one. */
export function* dispatch(
  storage: Storage,
  id: LimiterId,
  slot?: Slot,
  { limit: known, ahead, begun }: Dispatching = {},
): Procedure<Dispatched> {
  const limit = known ?? (yield* limitOf(storage, id))
  const into: Into = { wakes: [], granted: new Map(), begun }
  const hasSlots = limit.spec.concurrency !== undefined
  // A slot beyond a lowered limit is not granted again. While such slots are held, any other one is for their
  // holders.
  const isForNext = hasSlots && !limit.isPaused && limit.widest === limit.spec.concurrency
  if (slot && !isForNext) yield* free(storage, id, slot)
  if (limit.isPaused) return into
  if (slot && isForNext) yield* passToNext(storage, id, limit, slot, into, ahead)
  else if (hasSlots) yield* fillSlots(storage, id, limit, into)
  else yield* dispatchRate(storage, id, limit, into)
  return into
}

/** One slot, one grant: those that release others see to them. */
function* passToNext(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  released: Slot,
  into: Into,
  ahead?: Look,
): Procedure<void> {
  let slot: Slot | undefined = released
  const passedOver = new Set<string>()
  for (let seen = ahead; slot; seen = undefined) {
    seen ??= yield* look(storage, id, released.lane, passedOver)
    const candidates: Queued[] = spreadOut(storage, limit, seen.waiting, released.index)
    const [first] = candidates
    if (!first || !mayReserve(storage, limit, seen.state, first, into)) break
    for (const queued of candidates) {
      const granting: Granting = yield* grantWith(storage, id, limit, seen, queued, slot)
      if (granting.isGranted) return yield* note(storage, id, queued, { ...granting, isUrgent: true }, into)
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
function* fillSlots(storage: Storage, id: LimiterId, limit: InForce, into: Into): Procedure<void> {
  while (into.begun !== undefined && (yield* ended(storage, id, yield* readState(storage, id), into)));
  let served: string | undefined
  const passedOver = new Set<string>()
  for (;;) {
    const seen = yield* look(storage, id, served, passedOver)
    const [queued] = spreadOut(storage, limit, seen.waiting, 0)
    if (!queued || !mayReserve(storage, limit, seen.state, queued, into)) return
    served = queued.entry.lane
    const slot = yield* findFree(storage, id, limit, queued.entry)
    if (!slot) return
    // Another process has taken it for this request, and is about to notify its owner.
    const isTaken = isHeld(slot)
    const granting: Granting = isTaken
      ? { isGranted: false, slot }
      : yield* grantWith(storage, id, limit, seen, queued, slot)
    if (granting.isGranted) yield* note(storage, id, queued, granting, into)
    else passedOver.add(queued.key)
    if (!granting.isGranted && granting.slot && !isTaken) yield* free(storage, id, granting.slot)
  }
}

/** A limiter's state, and the first of its queue. */
export interface Look extends Seen {
  waiting: Queued[]
}

/** `served`: the fairness key that was served last. `passedOver`: requests that this dispatcher could not grant. */
export function* look(
  storage: Storage,
  id: LimiterId,
  served: string | undefined,
  passedOver?: ReadonlySet<string>,
): Procedure<Look> {
  const reads = [readState(storage, id), nextEntries(storage, id, served, LOOK, passedOver)]
  const [seen, waiting] = (yield* together<unknown>(reads)) as [Seen, Queued[]]
  if (!seen.state.holders) return { ...seen, waiting }
  yield* moveHolders(storage, id, seen)
  return yield* look(storage, id, served, passedOver)
}

/**
 * When many slots are released at the same time, each looks at the front of the queue in an order of its own: two
 * seldom meet.
 */
function spreadOut(storage: Storage, limit: InForce, waiting: readonly Queued[], slot: number): Queued[] {
  const width = storage.isContended ? Math.min(MOST_SPREAD, Math.ceil(limit.spec.concurrency! / 4)) : 1
  const first = waiting.slice(0, width).map((queued) => ({ queued, place: spread(`${slot} ${queued.key}`) }))
  return [...first.sort((a, b) => a.place - b.place).map(({ queued }) => queued), ...waiting.slice(width)]
}

/** Nothing is reserved far ahead while another reservation is out: the limit may change. */
function mayReserve(
  storage: Storage,
  limit: InForce,
  state: LimiterState,
  { entry }: Queued,
  { begun }: Into,
): boolean {
  const now = storage.now()
  return (
    roomFor(limit.spec, cooling(state, limit.cooldownUntil), entry.cost, now) <= now + AHEAD_MS ||
    !isReserved(state, now, begun)
  )
}

/** Takes its part of the rate first, where there is one. */
function* grantWith(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  seen: Seen,
  queued: Queued,
  slot: Slot,
): Procedure<Granting> {
  const now = storage.now()
  const state = cooling(seen.state, limit.cooldownUntil)
  const at = roomFor(limit.spec, state, queued.entry.cost, now)
  if (limit.spec.rate !== undefined || at > now) {
    const next = taken(limit.spec, seen.state, queued.entry, at, now)
    if (!(yield* writeState(storage, id, next, seen.found))) return { isGranted: false, slot }
  }
  return yield* grant(storage, id, limit, queued, slot, at)
}

/**
 * Ends the reservation of a start that has begun, so that requests that come later do not wait for it. The queue is
 * read after that, for those that have come in between.
 */
function* ended(storage: Storage, id: LimiterId, { state, found }: Seen, { begun }: Into): Procedure<boolean> {
  const { promised, ...rest } = state
  if (begun === undefined || promised?.to !== begun) return false
  yield* writeState(storage, id, rest, found)
  return true
}

/** Many at once: one write reserves their starts, and then all are notified. */
function* dispatchRate(storage: Storage, id: LimiterId, limit: InForce, into: Into): Procedure<void> {
  const passedOver = new Set<string>()
  for (let tries = 0; tries < MOST_TRIES; ) {
    const seen = yield* readState(storage, id)
    const queue = yield* nextEntries(storage, id, seen.state.lane, BATCH, passedOver)
    if (queue.length === 0) {
      if (yield* ended(storage, id, seen, into)) continue
      if (passedOver.size === 0) yield* endPause(storage, id, limit)
      return
    }
    const { state, starts } = plan(storage, limit, seen.state, queue, into)
    if (starts.length === 0) return
    if (state !== seen.state && !(yield* writeState(storage, id, state, seen.found))) {
      tries++
      continue
    }
    const granted = yield* together(starts.map(({ queued, at }) => grant(storage, id, limit, queued, undefined, at)))
    for (const [i, granting] of granted.entries()) {
      const { queued } = starts[i]!
      if (granting.isGranted) yield* note(storage, id, queued, granting, into)
      else passedOver.add(queued.key)
    }
    if (starts.length < queue.length) return
  }
}

interface Start {
  queued: Queued
  at: number
}

function plan(
  storage: Storage,
  { spec, cooldownUntil }: InForce,
  before: LimiterState,
  queue: readonly Queued[],
  { begun }: Into,
): { state: LimiterState; starts: Start[] } {
  const now = storage.now()
  const starts: Start[] = []
  let state = before
  for (const queued of queue) {
    const at = roomFor(spec, cooling(state, cooldownUntil), queued.entry.cost, now)
    if (at > now + AHEAD_MS && isReserved(state, now, begun)) break
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

/** What is left to do once the owner is notified. `isUrgent`: a slot stands empty until its owner is woken. */
function* note(
  storage: Storage,
  id: LimiterId,
  { entry, key }: Queued,
  { permit, wakes, next, isEntryLeft, isUrgent }: Granted & { isUrgent?: boolean },
  into: Dispatched,
): Procedure<void> {
  into.granted.set(entry.holder, permit)
  const [left] = yield* together<unknown>([
    ask(isUrgent ? storage.wake(wakes) : wakes),
    ...(isEntryLeft ? [removeEntry(storage, id, key)] : []),
  ])
  into.wakes.push(...(left as Wake[]))
  if (next) into.wakes.push(...(yield* lookForRoomOf(storage, next, storage.now())))
}
