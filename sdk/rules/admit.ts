import { ConflictError } from '../base/errors.ts'
import type { LimiterToPass } from '../flow/admission.ts'
import { BEING_MADE_MS, type LimiterId } from '../flow/limiter/limiter.ts'
import { UNKNOWN } from '../flow/limiter/readable.ts'
import { releasesOfRun } from '../flow/limiter/releases.ts'
import type { Slot } from '../flow/limiter/slots.ts'
import { isSingleton } from '../flow/options.ts'
import { hasEnded, type NewRun } from '../ports/run.ts'
import type { Wake } from '../ports/world.ts'
import { deliver } from './deliver.ts'
import { acquireNow } from './limiters/acquire.ts'
import { dispatch } from './limiters/dispatch.ts'
import { readQueue } from './limiters/entries.ts'
import { entryOf, joinNext, lookForRoomOf } from './limiters/queueing.ts'
import { type InForce, limitOf, noteLimit } from './limiters/record.ts'
import { release } from './limiters/release.ts'
import { isHeld, readBlock } from './limiters/slots.ts'
import type { Seen } from './limiters/state.ts'
import { ask, type Procedure, together } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'

export interface Inserted {
  inserted: boolean
  run: StoredRun
  wakes: Wake[]
}

/** Creates a run. One whose workflow has limits starts if they have room for it, and otherwise queues. */
export function* insert(storage: Storage, run: NewRun): Procedure<Inserted> {
  const { admission } = run
  if (!admission) return yield* insertPlain(storage, run)
  const there = yield* ask(storage.find(run.id))
  // The first caller may have died before the run was in the queue.
  if (there)
    return { inserted: false, run: there, wakes: there.status === 'queued' ? yield* queueAgain(storage, there) : [] }
  // It is admitted when its time has come and its input is complete. Its limits must be on record by then.
  if (run.wakeAt > storage.now() || admission.gathering) {
    for (const [limit, spec] of Object.entries(admission.specs)) yield* noteLimit(storage, { limit }, spec)
    return yield* insertPlain(storage, run)
  }
  return yield* admission.onConflict === 'skip' ? insertUnlessThere(storage, run) : insertOrQueue(storage, run)
}

function* insertPlain(storage: Storage, run: NewRun): Procedure<Inserted> {
  const { inserted, run: there } = yield* ask(storage.insert(run))
  return { inserted, run: there, wakes: inserted ? [{ runId: run.id, at: run.wakeAt }] : [] }
}

/** Through the limiters first, as far as they have room: then most runs are made as they stay, with one write. */
function* insertOrQueue(storage: Storage, run: NewRun): Procedure<Inserted> {
  const gates: LimiterToPass[] = []
  let seen: Seen | undefined
  for (const limiter of run.admission!.gates) {
    const { grant, seen: last } = yield* acquireNow(
      storage,
      limiter,
      yield* limitFor(storage, run, limiter),
      entryOf(run, limiter),
    )
    seen = last
    if (!grant) break
    gates.push({ ...limiter, grant })
  }
  const passed = gates.length
  const admission = { ...run.admission!, gates: [...gates, ...run.admission!.gates.slice(passed)] }
  if (passed === admission.gates.length) return yield* insertPlain(storage, { ...run, admission, passed })
  // A process without the code grants the limits that come later: they must be on record by then.
  yield* together(admission.gates.slice(passed + 1).map((limiter) => limitFor(storage, run, limiter)))
  const joinedAt = yield* joinNext(storage, { ...run, admission, passed }, seen)
  const made = yield* insertPlain(storage, { ...run, admission, passed, status: 'queued' })
  if (!made.inserted) return made
  return { ...made, wakes: yield* lookInPlace(storage, made.run, joinedAt) }
}

/** A repeated start: its first sender may have died before the run was in the queue. */
function* queueAgain(storage: Storage, run: StoredRun): Procedure<Wake[]> {
  return yield* lookInPlace(storage, run, yield* joinNext(storage, run))
}

/** Looks for room, in the place of those that it is to replace. Doing it again is harmless. */
function* lookInPlace(storage: Storage, run: StoredRun, joinedAt: number): Procedure<Wake[]> {
  const { gates, onConflict } = run.admission!
  const wakes = yield* lookForRoomOf(storage, run, joinedAt)
  const limiter = gates[run.passed ?? 0]
  // One that has its key, and waits for something else, has taken that place long ago.
  return onConflict && limiter && isSingleton(limiter.limit)
    ? [...wakes, ...(yield* takeTheirPlace(storage, run, limiter, onConflict))]
    : wakes
}

/** Its slot is taken before it is made; the run that has it is given instead. */
function* insertUnlessThere(storage: Storage, run: NewRun): Procedure<Inserted> {
  const [only] = run.admission!.gates
  for (let looks = 0; ; looks++) {
    const { grant } = yield* acquireNow(storage, only!, yield* limitFor(storage, run, only!), entryOf(run, only!))
    if (grant) return yield* insertOrQueue(storage, run)
    const [held] = yield* heldSlots(storage, only!)
    const there = held && (yield* ask(storage.find(held.holder)))
    if (there && !hasEnded(there.status)) return { inserted: false, run: there, wakes: [] }
    // Another start is between its slot and its run.
    if (held && !there && storage.now() - held.since < BEING_MADE_MS) {
      if (looks < MOST_LOOKS) continue
      throw new ConflictError(
        `another start of the same key is under way (run '${held.holder}'); try again in a moment`,
      )
    }
    // It has ended, and its runner has not released the slot so far.
    if (held) yield* dispatch(storage, only!, held)
    else {
      // Paused, or about to be granted: the first in the queue is the one that there is.
      const first = yield* firstInQueue(storage, only!, run)
      return first ? { inserted: false, run: first, wakes: [] } : yield* insertOrQueue(storage, run)
    }
  }
}

const MOST_LOOKS = 200

function* firstInQueue(storage: Storage, id: LimiterId, run: NewRun): Procedure<StoredRun | undefined> {
  const ids = (yield* readQueue(storage, id, MOST_WAITING)).map(({ entry }) => entry.run)
  return (yield* stillOpen(storage, ids, run))[0]
}

/** Of a singleton: those that wait beside the one that runs. */
const MOST_WAITING = 1_000

/** On record from now on, if it was not. */
function* limitFor(storage: Storage, { admission }: NewRun, id: LimiterId): Procedure<InForce> {
  const spec = admission!.specs[id.limit]
  return spec ? yield* noteLimit(storage, id, spec) : yield* limitOf(storage, id)
}

/** Of a singleton, which has one slot. Who holds one that cannot be read is not known. */
function* heldSlots(storage: Storage, id: LimiterId): Procedure<Slot[]> {
  return (yield* readBlock(storage, id, 0)).filter((slot) => isHeld(slot) && slot.holder !== UNKNOWN)
}

/** The last start counts: the other runs in the queue are cancelled, and with `cancel-running` the one that runs. */
function* takeTheirPlace(
  storage: Storage,
  run: StoredRun,
  id: LimiterId,
  onConflict: 'cancel-running' | 'queue-latest' | 'skip',
): Procedure<Wake[]> {
  const waiting = (yield* readQueue(storage, id, MOST_WAITING)).map(({ entry }) => entry.run)
  const holders = onConflict === 'cancel-running' ? (yield* heldSlots(storage, id)).map(({ holder }) => holder) : []
  const [inQueue, holding] = yield* together([waiting, holders].map((ids) => stillOpen(storage, ids, run)))
  const reason = `run '${run.id}' of the same key takes its place`
  // Of several starts at once the last one stays: each cancels those before it, and its own run if there is one
  // behind it. One of two always sees the other.
  const isLast = !inQueue!.some((other) => isBefore(run, other))
  // A run that has the slot came before, whatever the clocks say.
  const ends = [...holding!, ...inQueue!.filter((other) => isBefore(other, run)), ...(isLast ? [] : [run])]
  const sent = yield* together(
    ends.map(({ id: runId }) => deliver(storage, runId, { id: `superseded by ${run.id}`, kind: 'cancel', reason })),
  )
  return sent.flatMap(({ wakes }) => wakes)
}

const isBefore = (a: StoredRun, b: StoredRun): boolean =>
  a.createdAt === b.createdAt ? a.id < b.id : a.createdAt < b.createdAt

function* stillOpen(storage: Storage, ids: readonly string[], but: { id: string }): Procedure<StoredRun[]> {
  const others = [...new Set(ids)].filter((id) => id !== but.id)
  const runs = yield* together(others.map((id) => ask(storage.find(id))))
  return runs.filter((run) => run !== undefined && !hasEnded(run.status)) as StoredRun[]
}

/** A run that waits for nothing any more, or for people, leaves all its limiters to others. */
export function* releaseRun(storage: Storage, run: StoredRun): Procedure<Wake[]> {
  const releases = releasesOfRun(run)
  const released = yield* together(releases.map(({ limiter, ...permit }) => release(storage, limiter, permit)))
  return released.flat()
}
