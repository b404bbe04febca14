import { hasLimiterToPass, type LimiterToPass } from '../../flow/admission.ts'
import type { LimitSpec } from '../../flow/limiter/limit.ts'
import { BEING_MADE_MS, isSameLimiter, type LimiterId } from '../../flow/limiter/limiter.ts'
import { type Grant, isOfStep, type QueueEntry } from '../../flow/limiter/queue.ts'
import { validUntil } from '../../flow/limiter/rate.ts'
import type { Slot } from '../../flow/limiter/slots.ts'
import type { GrantedPermit } from '../../ports/permits.ts'
import { hasEnded } from '../../ports/run.ts'
import type { Wake } from '../../ports/world.ts'
import { wakeUp } from '../deliver.ts'
import { ask, type Procedure, together } from '../procedure.ts'
import type { Storage, StoredRun, Updated } from '../storage.ts'
import { changeEntry, findEntry, type Queued, removeEntry } from './entries.ts'
import { joinNext } from './queueing.ts'
import type { InForce } from './record.ts'
import { passOn } from './slots.ts'

/**
 * Grants a request in three writes, and their order is what holds. First the slot gets its new holder: a holder is
 * only notified of a slot that is its own. Then the owner is notified, in the run's record or in the step's queue
 * entry, on condition that it still waits. Last the owner is woken, and a run's entry removed (a step's own commit
 * removes its entry). A process that cannot notify the owner has the slot for another request, unless another
 * process has written it since. Where a process dies in between, the next check of the limiter finds a request with
 * a slot, and notifies its owner (I10).
 */

/** `next`: a run that has more limiters to pass. Where nothing was granted, `slot` is there for another request. */
export type Granting = Granted | { isGranted: false; slot: Slot | undefined }

export interface Granted {
  isGranted: true
  permit: Omit<GrantedPermit, 'holder'>
  wakes: Wake[]
  next?: StoredRun
  /** The entry is of no use any more. */
  isEntryLeft: boolean
}

/** A slot that was taken for a request in vain has no holder. */
const notGranted = (slot?: Slot): Granting => ({ isGranted: false, slot: slot && { ...slot, holder: '' } })

/** Nothing waits for this run: it has ended, or waits for people. */
export const isOut = ({ status }: StoredRun): boolean => hasEnded(status) || status === 'stuck'

/** `slot`: a free one, or one whose holder has released it. Without: the limit has none. */
export function* grant(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  queued: Queued,
  slot: Slot | undefined,
  at: number,
): Procedure<Granting> {
  const { entry } = queued
  const slotIndex = slot && { slot: slot.index }
  const granted: Grant = { at, by: storage.now(), ...validFor(limit.spec, at), ...slotIndex }
  const [own, run] = (yield* together<unknown>([
    slot ? passOn(storage, id, slot, entry) : ask(undefined),
    ask(storage.find(entry.run)),
  ])) as [Slot | undefined, StoredRun | undefined]
  // Another process has done something else with the slot.
  if (slot && !own) return notGranted()
  return isOfStep(entry.holder)
    ? yield* grantStep(storage, id, queued, run, own, granted)
    : yield* grantRun(storage, id, limit, queued, run, own, granted)
}

function* grantStep(
  storage: Storage,
  id: LimiterId,
  queued: Queued,
  run: StoredRun | undefined,
  own: Slot | undefined,
  granted: Grant,
): Procedure<Granting> {
  const { entry, key } = queued
  if (!run || isOut(run)) {
    yield* removeEntry(storage, id, key)
    return notGranted(own)
  }
  if (yield* changeEntry(storage, id, queued, { ...entry, grant: granted }))
    return { isGranted: true, permit: permitOf(granted), wakes: yield* wakeUp(storage, run), isEntryLeft: false }
  // Another process has granted it, with this slot or another one, or its run has withdrawn it.
  const there = (yield* findEntry(storage, id, entry))?.entry.grant
  const isTheirs = own && typeof there === 'object' && there.slot === own.index
  return notGranted(isTheirs ? undefined : own)
}

function* grantRun(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  { entry, key }: Queued,
  found: StoredRun | undefined,
  own: Slot | undefined,
  granted: Grant,
): Procedure<Granting> {
  const { isNotified, run } = yield* notifyRun(storage, id, limit, entry, found, granted)
  if (isNotified) {
    const result = { isGranted: true as const, permit: permitOf(granted), isEntryLeft: true }
    const isNext = hasLimiterToPass(run)
    return isNext ? { ...result, wakes: [], next: run } : { ...result, wakes: [{ runId: run.id, at: run.wakeAt! }] }
  }
  // Its owner may be about to say that it waits.
  if (storage.now() - (entry.since ?? 0) >= BEING_MADE_MS) yield* removeEntry(storage, id, key)
  return notGranted(own && run && isNotifiedOf(run, id, own) ? undefined : own)
}

/** Another process has notified the run of this very slot. */
const isNotifiedOf = (run: StoredRun, id: LimiterId, { index }: Slot): boolean =>
  !isOut(run) && run.admission!.gates.some((limiter) => isSameLimiter(limiter, id) && limiter.grant?.slot === index)

const permitOf = ({ by: _, ...permit }: Grant): Omit<GrantedPermit, 'holder'> => permit

/** A part of a rate is for its time. */
export const validFor = (spec: LimitSpec, at: number): { until?: number } =>
  spec.rate === undefined ? {} : { until: validUntil(spec, at) }

type Notified = { isNotified: true; run: StoredRun } | { isNotified: false; run: StoredRun | undefined }

/** A run has passed one of its limiters: it goes to the next, or it starts. */
function* notifyRun(
  storage: Storage,
  id: LimiterId,
  limit: InForce,
  entry: QueueEntry,
  found: StoredRun | undefined,
  granted: Grant,
): Procedure<Notified> {
  let run = found
  while (run && waitsWith(storage, run, entry, id)) {
    const { admission, passed: before = 0 } = run
    const gates: readonly LimiterToPass[] = admission!.gates
    const isLast = before + 1 === gates.length
    if (!isLast) yield* joinNext(storage, { ...run, passed: before + 1 })
    // Paused again while it was in the queue, it has waited for that too.
    const limiter = { ...gates[before]!, grant: granted, ...(limit.round !== undefined && { round: limit.round }) }
    // A run that was cancelled is woken earlier. The time of its upkeep is no reason to start it.
    const wakeAt = Math.min(granted.at, run.isUpkeep ? granted.at : (run.wakeAt ?? granted.at))
    const set = {
      passed: before + 1,
      admission: { ...admission!, gates: gates.with(before, limiter) },
      ...(isLast && { status: 'pending' as const, wakeAt }),
    }
    const when = { status: ['queued' as const], passed: before, epoch: run.epoch, stimulus: run.stimulus }
    const updated: Updated = yield* ask(storage.update(run, { when, set }))
    if (updated.ok) return { isNotified: true, run: updated.run }
    run = updated.run
  }
  return { isNotified: false, run }
}

/** The run waits for this limiter, and has not left its queue since the entry was put there. */
export function waitsWith(storage: Storage, run: StoredRun, { nth = 0 }: QueueEntry, id: LimiterId): boolean {
  const { status, admission, passed = 0, epoch } = run
  if (status !== 'queued' || !isSameLimiter(admission?.gates[passed], id)) return false
  // Where no other process writes between two calls, a rerun begins with an epoch of its own.
  return !storage.isContended || epoch === nth
}
