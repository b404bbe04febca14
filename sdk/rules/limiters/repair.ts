import type { Json } from '../../base/json.ts'
import {
  BEING_MADE_MS,
  CHECK_EVERY_MS,
  CHECK_IDLE_EVERY_MS,
  isSameLimiter,
  type LimiterId,
  type LimiterState,
  limiterKey,
  limitersOf,
  queueOf,
  slotsOf,
} from '../../flow/limiter/limiter.ts'
import { openPermits } from '../../flow/limiter/permit-log.ts'
import { isOfStep, type QueueEntry, runOf } from '../../flow/limiter/queue.ts'
import { unusedFrom } from '../../flow/limiter/rate.ts'
import { inWords, UNKNOWN } from '../../flow/limiter/readable.ts'
import { blocksOf, type Slot } from '../../flow/limiter/slots.ts'
import type { Document } from '../../ports/documents.ts'
import type { Wake } from '../../ports/world.ts'
import { wakeUp } from '../deliver.ts'
import { ask, type Procedure, together } from '../procedure.ts'
import type { Storage, StoredRun } from '../storage.ts'
import { dispatch } from './dispatch.ts'
import { type Queued, readQueue, removeEntry } from './entries.ts'
import { grant, isOut, waitsWith } from './grant.ts'
import { queueUp } from './queueing.ts'
import { type InForce, limitOf } from './record.ts'
import { free, hasSurplus, isHeld, readSlots, writeSlot } from './slots.ts'
import { checkBy, moveHolders, readState, type Seen, writeState } from './state.ts'

/**
 * I10. Checks a limiter that is due: everything that a process may have left unfinished is done here. Then the limiter
 * is due again, sooner while requests wait. Slots and entries whose owners are gone go to other requests, owners
 * that may not know of a grant are notified again, hand-overs are completed, and the queue is dispatched.
 */

/** An owner is notified again of a grant that is older than any process needs to notify it. */
const NOTIFIED_WITHIN_MS = 10_000
/** A longer queue is checked in parts: its first entries are the ones that others wait for. */
const MOST_ENTRIES = 1_000
/** A limiter that is not in use any more is shown for so long. */
const KEPT_MS = 3_600_000

/** `damage`: gets what of the limiter cannot be read, in words. Everything else of it is checked all the same. */
export function* repair(storage: Storage, id: LimiterId, damage: string[] = []): Procedure<Wake[]> {
  const before = yield* readState(storage, id)
  const record = yield* limitOf(storage, id)
  if (before.found?.unreadable) damage.push(inWords(limitersOf(id.limit), before.found))
  if (record.unreadable !== undefined) damage.push(record.unreadable)
  // Nothing is granted, so there is nothing to repair for.
  if (damage.length > 0) {
    yield* putOff(storage, id, before)
    return []
  }
  if (before.state.holders) yield* moveHolders(storage, id, before)
  const limit = before.state.holders ? yield* limitOf(storage, id) : record
  const { state } = before
  const [slots, queue] = (yield* together<unknown>([
    readSlots(storage, id, limit.widest),
    readQueue(storage, id, MOST_ENTRIES),
  ])) as [Slot[], Queued[]]
  const wakes: Wake[] = []
  const requests = queue.filter(({ entry }) => entry.run !== UNKNOWN)
  const known = slots.filter(({ holder }) => holder !== UNKNOWN)
  if (requests.length < queue.length) damage.push(...(yield* problemsIn(storage, queueOf(id), MOST_ENTRIES)))
  if (known.length < slots.length)
    for (let block = 0; block < blocksOf(limit.widest); block++)
      damage.push(...(yield* problemsIn(storage, slotsOf(id, block))))
  const kept = yield* checkEntries(storage, id, requests, wakes)
  const queued = new Set(kept.map(({ entry }) => entry.holder))
  const dropped = new Set(requests.map(({ entry }) => entry.holder).filter((holder) => !queued.has(holder)))
  const held = known.filter(isHeld)
  const isOf = ({ holder }: Slot): Request =>
    queued.has(holder) ? 'queued' : dropped.has(holder) ? 'dropped' : 'not queued'
  yield* together(held.map((slot) => checkSlot(storage, id, slot, held, isOf(slot), state.checkedAt ?? 0, wakes)))
  yield* tellOwners(storage, id, limit, held, kept, wakes)
  if (limit.spec.concurrency !== undefined && limit.widest > limit.spec.concurrency)
    yield* hasSurplus(storage, id, limit)
  wakes.push(...(yield* dispatch(storage, id, undefined, { limit })).wakes)
  yield* setNextCheck(storage, id, damage.length > 0)
  return wakes
}

/**
 * What cannot be read of a collection. It is read again for this, because the rules have seen a value that grants
 * nothing.
 */
function* problemsIn(storage: Storage, collection: string, limit?: number): Procedure<string[]> {
  const found = yield* ask(storage.documents.list(collection, limit === undefined ? {} : { limit }))
  return found.filter(({ unreadable }) => unreadable).map((document) => inWords(collection, document))
}

function* checkEntries(storage: Storage, id: LimiterId, queue: readonly Queued[], wakes: Wake[]): Procedure<Queued[]> {
  const kept: Queued[] = []
  const ofRuns = [...Map.groupBy(queue, ({ entry }) => entry.run)]
  const runs = yield* together(ofRuns.map(([runId]) => ask(storage.find(runId))))
  for (const [i, [, entries]] of ofRuns.entries()) {
    const run = runs[i]
    const isOverdue = run && !isOut(run) && entries.some(({ entry }) => isUnconfirmed(storage, entry))
    // A process that stood still may have queued requests that their run has released since. Each would be granted,
    // in vain.
    const wanted = isOverdue ? yield* wantedBy(storage, run) : undefined
    const isOfUse = ({ entry }: Queued): boolean => {
      const { holder, since = 0, grant: granted } = entry
      // A run may be in the queue before it is created, and before its record says so.
      const isYoung = storage.now() - since < BEING_MADE_MS
      if (!run) return isYoung
      if (isOut(run) || granted === 'withdrawn') return false
      return isOfStep(holder) ? !wanted || wanted.has(holder) : isYoung || waitsWith(storage, run, entry, id)
    }
    yield* together(entries.filter((each) => !isOfUse(each)).map(({ key }) => removeEntry(storage, id, key)))
    kept.push(...entries.filter(isOfUse))
    if (isOverdue) wakes.push(...(yield* wakeUp(storage, run)))
  }
  return kept
}

/** A step was granted this some time ago, and its run has not begun it. */
const isUnconfirmed = (storage: Storage, { holder, grant: granted }: QueueEntry): boolean =>
  isOfStep(holder) && typeof granted === 'object' && storage.now() - granted.by >= NOTIFIED_WITHIN_MS

/** The request of a slot's holder: in the queue, removed by this check, or neither. */
type Request = 'queued' | 'dropped' | 'not queued'

function* checkSlot(
  storage: Storage,
  id: LimiterId,
  slot: Slot,
  all: readonly Slot[],
  request: Request,
  checkedAt: number,
  wakes: Wake[],
): Procedure<void> {
  const run = yield* ask(storage.find(runOf(slot.holder)))
  // In this order: of two slots of a run that has ended, none is kept.
  const isLeft =
    (yield* isLeftOver(storage, id, slot, run, request, checkedAt)) || (yield* hasAnother(storage, id, slot, all))
  if (isLeft) return void (yield* free(storage, id, slot))
  // It has a slot, and is not in the queue that would notify it.
  if (run?.status === 'queued' && request !== 'queued' && !isOfStep(slot.holder) && isAt(run, id))
    wakes.push(...(yield* queueUp(storage, run)))
}

/**
 * Its holder has two slots: two processes were about to grant one request. A process that is still about to do it
 * is younger than a minute. The holder keeps the first slot, which is written, so that neither of the processes
 * passes it on.
 */
function* hasAnother(storage: Storage, id: LimiterId, slot: Slot, all: readonly Slot[]): Procedure<boolean> {
  const now = storage.now()
  const isOld = ({ since }: Slot): boolean => now - since >= BEING_MADE_MS
  const first = all.find((other) => other.holder === slot.holder && other.index < slot.index)
  if (!first || !isOld(first) || !isOld(slot)) return false
  const { holder, since, lane, heldMs } = first
  const kept = { holder, since, ...(lane !== undefined && { lane }), ...(heldMs !== undefined && { heldMs }) }
  return (yield* writeSlot(storage, id, first, kept)) !== undefined
}

const isAt = ({ admission, passed = 0 }: StoredRun, id: LimiterId): boolean =>
  isSameLimiter(admission?.gates[passed], id)

/** A request that has a slot and waits in the queue: a start that was repeated, say, whose first sender died. */
function* tellOwners(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  held: readonly Slot[],
  queue: readonly Queued[],
  wakes: Wake[],
): Procedure<void> {
  for (const queued of queue) {
    const slot = held.find(({ holder }) => holder === queued.entry.holder)
    // A process that has just taken it for the request is about to notify its owner.
    if (!slot || queued.entry.grant !== undefined || storage.now() - slot.since < NOTIFIED_WITHIN_MS) continue
    if (limit.spec.rate !== undefined) {
      // The part of the rate that came with the slot was for then. Dispatching, which is next, takes one for now.
      yield* free(storage, id, slot)
      continue
    }
    const granting = yield* grant(storage, id, limit, queued, slot, storage.now())
    if (!granting.isGranted) continue
    if (granting.isEntryLeft) yield* removeEntry(storage, id, queued.key)
    wakes.push(...granting.wakes)
    if (granting.next) wakes.push(...(yield* queueUp(storage, granting.next)))
  }
}

/** Nothing will ever release this slot. */
function* isLeftOver(
  storage: Storage,
  id: LimiterId,
  { holder, since }: Slot,
  run: StoredRun | undefined,
  request: Request,
  checkedAt: number,
): Procedure<boolean> {
  const now = storage.now()
  if (!run) return now - since >= BEING_MADE_MS
  if (isOut(run)) return true
  if (request === 'dropped' && isOfStep(holder)) return true
  if (request === 'queued' || now - since < CHECK_EVERY_MS) return false
  if (!isOfStep(holder))
    return !run.admission?.gates.some((limiter, i) => isSameLimiter(limiter, id) && i <= (run.passed ?? 0))
  // Loading a journal costs: it is looked at after one minute, two, four, and so on.
  if (!isTimeToAsk(since, checkedAt, now)) return false
  return !(yield* wantedBy(storage, run)).has(holder)
}

function isTimeToAsk(since: number, checkedAt: number, now: number): boolean {
  const doublings = (at: number): number => Math.floor(Math.log2(Math.max(0.5, (at - since) / CHECK_EVERY_MS)))
  return doublings(now) > doublings(checkedAt)
}

/** The permits that the journal of the run asks for and has not released. */
function* wantedBy(storage: Storage, run: StoredRun): Procedure<Set<string>> {
  const frames = yield* ask(storage.frames(run, run.baseSeq + 1))
  const events = frames.flatMap((frame) => frame.events)
  return new Set(openPermits(run, events).map(({ holder }) => holder))
}

function* setNextCheck(storage: Storage, id: LimiterId, isDamaged: boolean): Procedure<void> {
  for (;;) {
    const { state, found } = yield* readState(storage, id)
    if (!found) return
    const limit = yield* limitOf(storage, id)
    const now = storage.now()
    const [first] = yield* readQueue(storage, id, 1)
    const inUse = (yield* readSlots(storage, id, limit.widest)).some(isHeld)
    const { wasEmpty, ...rest } = state
    const isEmpty = !first && !inUse
    const next: LimiterState = { ...rest, checkedAt: now, ...(isEmpty && { wasEmpty: true }) }
    // Empty twice: a process that was about to queue something has done so, or never will.
    const isUnused = isEmpty && wasEmpty === true
    const written =
      first || isDamaged
        ? yield* writeState(storage, id, next, found, now + CHECK_EVERY_MS)
        : isUnused
          ? yield* retire(storage, id, next, found, unusedFrom(limit.spec, state, now) + KEPT_MS)
          : yield* writeState(storage, id, next, found, now + CHECK_IDLE_EVERY_MS)
    if (!written) continue
    // A request that came meanwhile saw the earlier time.
    if (!first && (yield* readQueue(storage, id, 1)).length > 0) yield* checkBy(storage, id, now + CHECK_EVERY_MS)
    return
  }
}

/** Nothing is held and nothing waits: the state expires, and is due no more. */
function* retire(
  storage: Storage,
  id: LimiterId,
  state: LimiterState,
  found: Document,
  expiresAt: number,
): Procedure<Document | undefined> {
  const options = { ifVersion: found.version, expiresAt }
  return yield* ask(storage.documents.put(limitersOf(id.limit), limiterKey(id), state as unknown as Json, options))
}

/** A limiter that cannot be checked is due again in a minute, as it is. */
export function* putOff(storage: Storage, id: LimiterId, seen?: Seen): Procedure<void> {
  const { state, found } = seen ?? (yield* readState(storage, id))
  if (found) yield* writeState(storage, id, state, found, storage.now() + CHECK_EVERY_MS)
}
