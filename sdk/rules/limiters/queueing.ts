import type { Admission, LimiterToPass } from '../../flow/admission.ts'
import { BEING_MADE_MS, CHECK_EVERY_MS, type LimiterId } from '../../flow/limiter/limiter.ts'
import type { QueueEntry } from '../../flow/limiter/queue.ts'
import type { Wake } from '../../ports/world.ts'
import { type Procedure, together } from '../procedure.ts'
import type { Storage, StoredRun } from '../storage.ts'
import { type Dispatched, dispatch } from './dispatch.ts'
import { entriesOfRun, nextEntries, putEntry, type Queued, removeEntry } from './entries.ts'
import type { InForce } from './record.ts'
import { checkBy, readState, type Seen } from './state.ts'

/**
 * I10. A request is queued in this order: its limiter is due, its entry is there, its owner's record says that it
 * waits, and then its owner looks for room. A process that dies in between has left something behind that the next
 * check of the limiter finds.
 */

/**
 * Puts a request into the queue. Doing it again is harmless. `seen`: the limiter's state, if it was read just
 * before.
 */
export function* join(storage: Storage, id: LimiterId, entry: QueueEntry, seen?: Seen): Procedure<void> {
  yield* checkBy(storage, id, storage.now() + CHECK_EVERY_MS, seen)
  yield* putEntry(storage, id, { ...entry, since: storage.now() })
}

/** Looks for room, for a request that is in the queue and whose owner says so. */
export function* lookForRoom(storage: Storage, id: LimiterId, holder: string, known?: InForce): Procedure<Dispatched> {
  const [seen, [first]] = (yield* together<unknown>([
    readState(storage, id),
    nextEntries(storage, id, undefined, 1),
  ])) as [Seen, Queued[]]
  // A process that stood still for long has to do it again: a check may have come in between.
  yield* checkBy(storage, id, storage.now() + CHECK_EVERY_MS, seen)
  // The owner of another request has looked for room since, and every slot released after that goes to the queue.
  const isBehind = storage.isContended && first !== undefined && first.entry.holder !== holder
  return isBehind
    ? { wakes: [], granted: new Map() }
    : yield* dispatch(storage, id, undefined, { ...(known && { limit: known }) })
}

/** The limiter that a run has to pass next. */
const nextLimiter = ({
  admission,
  passed = 0,
}: {
  admission?: Admission | undefined
  passed?: number | undefined
}): LimiterToPass | undefined => admission?.gates[passed]

/**
 * Queues a run at the limiter that it has to pass next, before its record says so. Gives the time. `seen`: as for
 * `join`.
 */
export function* joinNext(
  storage: Storage,
  run: Requesting & { passed?: number | undefined },
  seen?: Seen,
): Procedure<number> {
  const limiter = nextLimiter(run)
  const joinedAt = storage.now()
  if (limiter) yield* join(storage, limiter, entryOf(run, limiter), seen)
  return joinedAt
}

/**
 * Has a run that says that it is queued look for room. `joinedAt`: when its entry was put there. A process that
 * stood still since has to put it there again: the entry of a run that did not say so for a minute is removed.
 */
export function* lookForRoomOf(storage: Storage, run: StoredRun, joinedAt: number): Procedure<Wake[]> {
  const limiter = nextLimiter(run)
  if (storage.now() - joinedAt >= BEING_MADE_MS / 2) yield* joinNext(storage, run)
  return limiter ? (yield* lookForRoom(storage, limiter, run.id)).wakes : []
}

/** A run that is queued once more has a new entry. The ones of before would take parts of a rate, and show it twice. */
export function* leaveEarlierEntries(storage: Storage, run: StoredRun): Procedure<void> {
  const limiter = nextLimiter(run)
  if (!limiter) return
  const own = entryOf(run, limiter)
  const earlier = (yield* entriesOfRun(storage, limiter, own)).filter(({ entry }) => (entry.nth ?? 0) < (own.nth ?? 0))
  yield* together(earlier.map(({ key }) => removeEntry(storage, limiter, key)))
}

/** Both, for a run that may not be in the queue although it says so. */
export function* queueUp(storage: Storage, run: StoredRun): Procedure<Wake[]> {
  return yield* lookForRoomOf(storage, run, yield* joinNext(storage, run))
}

interface Requesting {
  id: string
  admission?: Admission | undefined
  epoch?: number
}

/** The request of a run. Each time that it is queued has an entry of its own. */
export function entryOf({ id, epoch = 0, admission }: Requesting, { lane = '', holds }: LimiterToPass): QueueEntry {
  return {
    run: id,
    holder: id,
    cost: 1,
    holds: holds === true,
    lane,
    order: admission!.order,
    ...(epoch > 0 && { nth: epoch }),
  }
}
