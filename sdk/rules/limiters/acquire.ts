import type { LimitSpec } from '../../flow/limiter/limit.ts'
import { CHECK_IDLE_EVERY_MS, type LimiterId, type LimiterState, TRUSTED_MS } from '../../flow/limiter/limiter.ts'
import { isPause } from '../../flow/limiter/pause-scope.ts'
import type { Grant, QueueEntry } from '../../flow/limiter/queue.ts'
import { cooling, roomFor, taken, WAIT_HERE_MS, withReturned } from '../../flow/limiter/rate.ts'
import type { Slot } from '../../flow/limiter/slots.ts'
import type { ConfirmedRun, GrantedPermit, PendingRequest, Standing } from '../../ports/permits.ts'
import type { RunRecord } from '../../ports/run.ts'
import type { Wake } from '../../ports/world.ts'
import { ask, type Procedure, together } from '../procedure.ts'
import type { Storage } from '../storage.ts'
import { findEntries, nextEntries, type Queued } from './entries.ts'
import { validFor } from './grant.ts'
import { entryOf, join, lookForRoom } from './queueing.ts'
import { type InForce, limitOf, noteLimit } from './record.ts'
import { revoke } from './revoke.ts'
import { free, passOn, readSlot, slotOf, type TakenSlot, takeFree } from './slots.ts'
import { checkBy, moveHolders, readState, type Seen, writeState } from './state.ts'

/** What a request got: a permit, from `at` on; or a place in the queue, and then its run is woken. */
export interface Acquired {
  permit?: Omit<GrantedPermit, 'holder'>
  wakes: Wake[]
}

const QUEUED: Acquired = { wakes: [] }

/** Asks for a permit. Asked again, it gives the same one. */
export function* acquire(storage: Storage, id: LimiterId, entry: QueueEntry, spec: LimitSpec): Procedure<Acquired> {
  const limit = yield* noteLimit(storage, id, spec)
  const holds = limit.spec.concurrency !== undefined
  const { grant, seen } = yield* acquireNow(storage, id, limit, { ...entry, holds })
  if (grant) {
    const { by: _, ...permit } = grant
    return { permit, wakes: [] }
  }
  yield* join(storage, id, { ...entry, holds }, seen)
  const { wakes, granted } = yield* lookForRoom(storage, id, entry.holder, limit)
  const own = granted.get(entry.holder)
  return own ? { permit: { ...own, isQueued: true }, wakes } : { ...QUEUED, wakes }
}

/** Much less than the time from one check of a limiter to the one that retires it. */
const STOOD_STILL_MS = 10_000
/** Without the queue, where there is room and no request waits: the first attempts. */
const MOST_TRIES = 2

/** `seen`: the limiter's state, where it was read a moment ago. */
export function* acquireNow(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  entry: QueueEntry,
): Procedure<{ grant?: Grant; seen?: Seen }> {
  if (limit.isPaused) return {}
  let got: TakenSlot | undefined
  let last: Seen | undefined
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const askedAt = storage.now()
    const [seen, [first]] = (yield* together<unknown>([
      readState(storage, id),
      nextEntries(storage, id, undefined, 1),
    ])) as [Seen, Queued[]]
    if (seen.state.holders) {
      yield* moveHolders(storage, id, seen)
      continue
    }
    const now = storage.now()
    last = now - askedAt < STOOD_STILL_MS ? seen : undefined
    const isFree = !first && roomFor(limit.spec, cooling(seen.state, limit.cooldownUntil), entry.cost, now) <= now
    if (isFree && limit.spec.concurrency !== undefined) got ??= yield* takeFree(storage, id, limit, entry)
    if (!isFree || (limit.spec.concurrency !== undefined && !got)) break
    const slot = got && { slot: got.slot.index }
    if (limit.spec.rate === undefined) {
      // Only to say that the limiter is in use. A process that stood still looks again: a check may have retired the
      // limiter since.
      const isOld = storage.now() - askedAt >= STOOD_STILL_MS
      yield* checkBy(storage, id, storage.now() + CHECK_IDLE_EVERY_MS, isOld ? undefined : seen)
      return { grant: { at: now, by: now, ...slot } }
    }
    const next = taken(limit.spec, seen.state, entry, now, now)
    if (yield* writeState(storage, id, next, seen.found))
      return { grant: { at: now, by: now, ...validFor(limit.spec, now), ...slot } }
    last = undefined
  }
  // Others come and go faster than this one can write: the queue serves many at a time.
  if (got?.isNew) yield* free(storage, id, got.slot)
  return last ? { seen: last } : {}
}

/** Where requests of one run stand. One read of the queue finds all of them. */
export function* standings(
  storage: Storage,
  id: LimiterId,
  requests: readonly PendingRequest[],
): Procedure<Standing[]> {
  const entries = requests.map(({ entry }) => entry)
  const found = yield* findEntries(storage, id, entries)
  return yield* together(requests.map((request, i) => standing(storage, id, request, found[i])))
}

function* standing(
  storage: Storage,
  id: LimiterId,
  { entry, mayHaveSlot }: PendingRequest,
  queued: Queued | undefined,
): Procedure<Standing> {
  if (queued?.entry.grant === 'withdrawn') return 'unknown'
  if (queued) return queued.entry.grant ? yield* confirm(storage, id, entry, queued.entry.grant) : 'queued'
  if (!mayHaveSlot) return 'unknown'
  const { widest, spec } = yield* limitOf(storage, id)
  // It may have begun with it, and a rate counts every begin.
  if (widest === 0 || spec.rate !== undefined) return 'unknown'
  const slot = yield* ownSlot(storage, id, entry, widest)
  return slot ? { permit: { at: slot.since, slot: slot.index } } : 'unknown'
}

/**
 * Makes sure that a holder has the slot that it was granted: a check may have taken the slot from a holder that did
 * not begin for long.
 */
export function* confirm(
  storage: Storage,
  id: LimiterId,
  holder: Pick<QueueEntry, 'holder' | 'lane'>,
  { by, ...permit }: Grant,
): Procedure<Standing> {
  if (permit.slot === undefined || storage.now() - by <= TRUSTED_MS) return { permit }
  const slot = yield* readSlot(storage, id, permit.slot)
  if (slot.holder === holder.holder) return { permit }
  const { widest } = yield* limitOf(storage, id)
  const other = yield* ownSlot(storage, id, holder, widest)
  return other ? { permit: { ...permit, slot: other.index } } : 'unknown'
}

/**
 * A slot that has this holder, which does not know. The process that was about to notify it must not pass the slot
 * on.
 */
function* ownSlot(
  storage: Storage,
  id: LimiterId,
  holder: Pick<QueueEntry, 'holder' | 'lane'>,
  widest: number,
): Procedure<Slot | undefined> {
  const slot = yield* slotOf(storage, id, holder.holder, widest)
  return slot && (yield* passOn(storage, id, slot, holder))
}

/**
 * A start that comes later than its part of the rate was for takes another part, for the next time there is until
 * `latest`. Undefined where there is none: then it has to queue again. `unused`: the time of the part that it
 * returns, unless it may have begun with it. Only for the runner that has the run: after one that stood still,
 * another may have begun with that very part.
 */
export function* renewRate(
  storage: Storage,
  id: LimiterId,
  entry: QueueEntry,
  epoch: number,
  unused: number | undefined,
  latest: number,
): Procedure<Omit<GrantedPermit, 'holder'> | undefined> {
  const run = yield* ask(storage.find(entry.run))
  if (run?.epoch !== epoch) return undefined
  for (let isRevoked = false; ; ) {
    const limit = yield* limitOf(storage, id)
    const seen = yield* readState(storage, id)
    const now = storage.now()
    const before =
      unused === undefined
        ? seen.state
        : withReturned(limit.spec, seen.state, { holder: entry.holder, at: unused, cost: entry.cost }, now)
    // It was granted before what is reserved for later, and need not come behind that.
    const { lastAt: _, ...unordered } = before
    const at = roomFor(limit.spec, cooling(unordered, limit.cooldownUntil), entry.cost, now)
    const hasRoom = !limit.isPaused && at <= Math.max(now, latest)
    if (!hasRoom && !limit.isPaused && !isRevoked && mayRevoke(before, entry, now)) {
      isRevoked = true
      // Its owner waits in the queue again, and is dispatched by the next start.
      yield* revoke(storage, id)
      continue
    }
    const next = hasRoom ? taken(limit.spec, before, entry, at, now) : before
    if (next !== seen.state && !(yield* writeState(storage, id, next, seen.found))) continue
    return hasRoom ? { at, ...validFor(limit.spec, at) } : undefined
  }
}

/** A reservation of another request, for so much later that its owner hears of it before that. */
const mayRevoke = ({ promised }: LimiterState, { holder }: QueueEntry, now: number): boolean =>
  promised !== undefined && promised.to !== holder && promised.at > now + WAIT_HERE_MS

/**
 * Makes sure that a run has the permits of the limiters that it passed, before it begins. What it lacks of a rate
 * it takes anew, until `latest`.
 */
export function* confirmRun(
  storage: Storage,
  run: Pick<RunRecord, 'id' | 'admission' | 'epoch'>,
  mayHaveBegun: boolean,
  latest: number,
): Procedure<ConfirmedRun> {
  let latestRenewal: ConfirmedRun['renewed']
  for (const [i, { grant, ...limiter }] of (run.admission?.gates ?? []).entries()) {
    if (!grant || isPause(limiter.limit)) continue
    if (grant.until === undefined || grant.until >= storage.now()) {
      const isKept =
        (yield* confirm(storage, limiter, { holder: run.id, lane: limiter.lane ?? '' }, grant)) !== 'unknown'
      if (!isKept) return { lost: i }
      continue
    }
    const renewed = yield* renewRate(
      storage,
      limiter,
      entryOf(run, limiter),
      run.epoch,
      mayHaveBegun ? undefined : grant.at,
      latest,
    )
    if (!renewed) return { lost: i }
    if (!latestRenewal || renewed.at > latestRenewal.at)
      latestRenewal = { limiter: i, at: renewed.at, until: renewed.until! }
  }
  return latestRenewal ? { renewed: latestRenewal } : {}
}
