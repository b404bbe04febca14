import type { Gate } from '../../flow/admission.ts'
import type { LimitSpec } from '../../flow/limit.ts'
import { BEING_MADE_MS, isSameLimiter, type LimiterId } from '../../flow/limiter.ts'
import { entryKey, type Grant, isOfStep, type QueueEntry } from '../../flow/queue.ts'
import { validUntil } from '../../flow/rate.ts'
import { type Slot, stayOf } from '../../flow/slots.ts'
import { type GrantedPermit, hasEnded, type Wake } from '../../ports.ts'
import { wakeUp } from '../deliver.ts'
import { ask, type Procedure } from '../procedure.ts'
import type { Storage, StoredRun } from '../storage.ts'
import { changeEntry, type Queued, removeEntry } from './entries.ts'
import { entryOf, joinNext } from './queueing.ts'
import type { InForce } from './record.ts'
import { passOn } from './slots.ts'

/**
 * Grants a request in three writes, whose order is what holds. First its owner is told, in the owner's own record: of several
 * that grant at once one succeeds. Then the slot gets its new holder. Then the entry goes (a step's own commit removes it).
 * The owner is woken last. Where a process dies in between, the owner's record says which slot it follows in: it completes the
 * hand-over when it begins, or finds the slot taken and queues again.
 */

/** `next`: a run that has more limiters to pass. Where nothing was granted, `slot` is what is still there for another request. */
export type Granting =
  | { isGranted: true; permit: Omit<GrantedPermit, 'holder'>; wakes: Wake[]; next?: StoredRun }
  | { isGranted: false; slot: Slot | undefined }

const notGranted = (slot?: Slot): Granting => ({ isGranted: false, slot })

/** Nothing waits for this run: it has ended, or waits for people. */
export const isOut = ({ status }: StoredRun): boolean => hasEnded(status) || status === 'stuck'

export function* grant(storage: Storage, id: LimiterId, limit: InForce, queued: Queued, slot: Slot | undefined, at: number): Procedure<Granting> {
  const granted: Grant = { at, by: storage.now(), ...validFor(limit.spec, at), ...(slot && { slot: slot.index, from: stayOf(slot) }) }
  return isOfStep(queued.entry.holder) ? yield* grantStep(storage, id, queued, slot, granted) : yield* grantRun(storage, id, limit, queued, slot, granted)
}

function* grantStep(storage: Storage, id: LimiterId, queued: Queued, slot: Slot | undefined, granted: Grant): Procedure<Granting> {
  const { entry } = queued
  // Another process has granted it, or its run has withdrawn it.
  if (!(yield* changeEntry(storage, id, queued, { ...entry, grant: granted }))) return notGranted(slot)
  const own = slot && (yield* handOver(storage, id, slot, entry))
  if (slot && !own) {
    // Another process has done something else with the slot; the request waits on.
    const { grant: _, ...waiting } = entry
    yield* changeEntry(storage, id, { ...queued, version: queued.version + 1 }, waiting)
    return notGranted()
  }
  const run = yield* ask(storage.find(entry.run))
  if (run && !isOut(run)) return { isGranted: true, permit: permitOf(granted, own), wakes: yield* wakeUp(storage, run) }
  yield* removeEntry(storage, id, queued.key)
  return notGranted(own)
}

function* grantRun(storage: Storage, id: LimiterId, limit: InForce, queued: Queued, slot: Slot | undefined, granted: Grant): Procedure<Granting> {
  const { entry, key } = queued
  const told = yield* tellRun(storage, id, limit, entry.run, granted)
  if (!told) {
    // Its owner may be about to say that it waits.
    if (storage.now() - (entry.since ?? 0) >= BEING_MADE_MS) yield* removeEntry(storage, id, key)
    return notGranted(slot)
  }
  const own = slot && (yield* handOver(storage, id, slot, entry))
  if (slot && !own) {
    yield* takeBack(storage, id, told, key)
    return notGranted()
  }
  yield* removeEntry(storage, id, key)
  const { run, wakeAt } = told
  const result = { isGranted: true as const, permit: permitOf(granted, own) }
  return wakeAt === undefined ? { ...result, wakes: [], next: run } : { ...result, wakes: [{ runId: run.id, at: wakeAt }] }
}

const permitOf = ({ at, until }: Grant, slot: Slot | undefined): Omit<GrantedPermit, 'holder'> => ({
  at,
  ...(until !== undefined && { until }),
  ...(slot && { slot: slot.index }),
})

/** A part of a rate is for its time. */
export const validFor = (spec: LimitSpec, at: number): { until?: number } => (spec.rate === undefined ? {} : { until: validUntil(at) })

/** A slot that was taken for this very request has its holder. */
function* handOver(storage: Storage, id: LimiterId, slot: Slot, entry: QueueEntry): Procedure<Slot | undefined> {
  return slot.holder === entry.holder ? slot : yield* passOn(storage, id, slot, entry)
}

interface Told {
  run: StoredRun
  /** How many limiters it had passed before. */
  before: number
  /** When it starts, if this was the last of its limiters. */
  wakeAt: number | undefined
}

/** A run has passed one of its limiters: it goes to the next, or it starts. Undefined: it does not wait for this one any more. */
function* tellRun(storage: Storage, id: LimiterId, limit: InForce, runId: string, granted: Grant): Procedure<Told | undefined> {
  for (;;) {
    const run = yield* ask(storage.find(runId))
    const { admission, passed: before = 0 } = run ?? {}
    const gates: readonly Gate[] = admission?.gates ?? []
    if (run?.status !== 'queued' || !isSameLimiter(gates[before], id)) return undefined
    const isLast = before + 1 === gates.length
    if (!isLast) yield* joinNext(storage, { ...run, passed: before + 1 })
    // Paused again while it was in the queue, it has waited for that too.
    const gate = { ...gates[before]!, grant: granted, ...(limit.round !== undefined && { round: limit.round }) }
    // One that was cancelled is looked at earlier.
    const wakeAt = isLast ? Math.min(granted.at, run.wakeAt ?? granted.at) : undefined
    const set = {
      passed: before + 1,
      admission: { ...admission!, gates: gates.with(before, gate) },
      ...(isLast && { status: 'pending' as const, wakeAt }),
    }
    const when = { status: ['queued' as const], passed: before, stimulus: run.stimulus }
    const updated = yield* ask(storage.update(run, { when, set }))
    if (updated.ok) return { run: updated.run, before, wakeAt }
  }
}

/**
 * The slot went to another request: the run, which was not woken, waits on. Others have seen that it did not wait any more, and
 * may remove its entry, now or later: it gets a new one, in a new epoch, before it says that it waits.
 */
function* takeBack(storage: Storage, id: LimiterId, { run, before }: Told, key: string): Procedure<void> {
  const { gates } = run.admission!
  const { grant: _, ...gate } = gates[before]!
  const admission = { ...run.admission!, gates: gates.with(before, gate) }
  const again = { ...run, admission, passed: before, epoch: run.epoch + 1 }
  yield* joinNext(storage, again)
  const when = { status: [run.status], passed: before + 1, stimulus: run.stimulus }
  const set = { passed: before, status: 'queued' as const, wakeAt: undefined, admission }
  const updated = yield* ask(storage.update(run, { when, set, bump: ['epoch'] }))
  yield* removeEntry(storage, id, updated.ok ? key : entryKey(entryOf(again, gate)))
}
