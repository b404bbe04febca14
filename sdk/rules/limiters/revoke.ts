import { isSameLimiter, type LimiterId, type Reservation } from '../../flow/limiter/limiter.ts'
import { entryKey, isOfStep, runOf } from '../../flow/limiter/queue.ts'
import { withoutReservation } from '../../flow/limiter/rate.ts'
import type { Wake } from '../../ports/world.ts'
import { wakeUp } from '../deliver.ts'
import { ask, type Procedure } from '../procedure.ts'
import type { Storage } from '../storage.ts'
import { type Dispatched, dispatch } from './dispatch.ts'
import { changeEntry, findEntry, removeEntry } from './entries.ts'
import { waitsWith } from './grant.ts'
import { entryOf, join } from './queueing.ts'
import { limitOf } from './record.ts'
import { free, slotOf } from './slots.ts'
import { readState, writeState } from './state.ts'

/**
 * The limit's numbers have changed, or it is paused: requests with reservations by the old numbers wait again, and
 * are dispatched by the new ones.
 */
export function* revokeAndDispatch(
  storage: Storage,
  id: LimiterId,
  { endsCooldown }: { endsCooldown: boolean },
): Procedure<Dispatched> {
  const wakes = yield* revoke(storage, id, endsCooldown)
  const dispatched = yield* dispatch(storage, id)
  return { ...dispatched, wakes: [...wakes, ...dispatched.wakes] }
}

/** Takes the reservation back: its owner waits in the queue again. */
export function* revoke(storage: Storage, id: LimiterId, endsCooldown = false): Procedure<Wake[]> {
  const { spec } = yield* limitOf(storage, id)
  const wakes: Wake[] = []
  for (;;) {
    const { state, found } = yield* readState(storage, id)
    const { restUntil, ...rest } = state
    const { promised } = rest
    if (!found || (!promised && !(endsCooldown && restUntil))) return wakes
    const waiting =
      promised !== undefined && promised.at > storage.now() ? yield* queueAgain(storage, id, promised) : undefined
    const next = {
      ...withoutReservation(spec, rest, waiting !== undefined, storage.now()),
      ...(restUntil !== undefined && !endsCooldown && { restUntil }),
    }
    wakes.push(...(waiting ?? []))
    if (yield* writeState(storage, id, next, found)) return wakes
  }
}

/** The wakes of an owner that waits in the queue again; undefined if it has begun, or is gone. */
function* queueAgain(storage: Storage, id: LimiterId, reserved: Reservation): Procedure<Wake[] | undefined> {
  return isOfStep(reserved.to)
    ? yield* queueStepAgain(storage, id, reserved)
    : yield* queueRunAgain(storage, id, reserved.to)
}

function* queueStepAgain(
  storage: Storage,
  id: LimiterId,
  { to: holder, order = 0 }: Reservation,
): Procedure<Wake[] | undefined> {
  const run = yield* ask(storage.find(runOf(holder)))
  const queued = yield* findEntry(storage, id, { holder, order, lane: '' })
  // Its entry is gone once it has begun.
  if (!run || !queued || queued.entry.grant === 'withdrawn') return undefined
  const { grant: _, ...waiting } = queued.entry
  if (!(yield* changeEntry(storage, id, queued, waiting))) return undefined
  const { widest } = yield* limitOf(storage, id)
  const slot = widest === 0 ? undefined : yield* slotOf(storage, id, holder, widest)
  if (slot) yield* free(storage, id, slot)
  // Its run sleeps until the time that was reserved, and has to look again.
  return yield* wakeUp(storage, run)
}

function* queueRunAgain(storage: Storage, id: LimiterId, runId: string): Procedure<Wake[] | undefined> {
  const run = yield* ask(storage.find(runId))
  const { gates = [] } = run?.admission ?? {}
  const passed = gates.findIndex((limiter) => isSameLimiter(limiter, id))
  if (!run || passed < 0 || passed !== gates.length - 1) return undefined
  if (run.status === 'queued') return run.passed === passed ? [] : undefined
  // It is to be looked at meanwhile, to be cancelled, say.
  if (run.wakeAt === undefined || run.wakeAt <= storage.now()) return undefined
  const { grant: _, ...limiter } = gates[passed]!
  const admission = { ...run.admission!, gates: gates.with(passed, limiter) }
  // In a new epoch: a process that removes the old entry late does not remove this one.
  const entry = entryOf({ ...run, epoch: run.epoch + 1, admission }, limiter)
  // The entry first: a run that waits is in the queue.
  yield* join(storage, id, entry)
  const when = { status: ['pending' as const], passed: passed + 1, stimulus: run.stimulus }
  const updated = yield* ask(
    storage.update(run, { when, set: { status: 'queued', passed, wakeAt: undefined, admission }, bump: ['epoch'] }),
  )
  // Another process may have revoked it at the same time: then the run waits with this very entry.
  if (updated.ok || (updated.run && waitsWith(storage, updated.run, entry, id))) return []
  yield* removeEntry(storage, id, entryKey(entry))
  return undefined
}
