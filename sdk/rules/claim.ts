import type { Frame } from '../base/events.ts'
import { FORMAT } from '../base/names.ts'
import { beginOf } from '../engine/journal.ts'
import { isForEngine } from '../flow/coalescing/coalescing.ts'
import { hasEnded, type RunRecord } from '../ports/run.ts'
import type { Claimed, Lease } from '../ports/run-store.ts'
import { removeStarts } from './coalescing/collect.ts'
import { isLeased } from './guard.ts'
import { refuseNewer } from './limits.ts'
import { ask, type Procedure } from './procedure.ts'
import type { Change, RunFields, Storage, StoredRun } from './storage.ts'

/** The fields of a run without a holder, as if the holder had died. */
export const ABANDONED = { leaseUntil: undefined, owner: undefined }
/** The fields of a run that its holder has released. */
export const FREE = { ...ABANDONED, claims: undefined, spared: undefined }
/** Released cleanly, but effects of the holder that died before are still pending: the next holder sends them. */
export const withEffectsPending = ({ spared = 0 }: StoredRun): RunFields => ({ ...ABANDONED, spared: spared + 1 })

/** One change and no look beforehand: most claims succeed. */
function claiming(lease: Lease, now: number): Change {
  return {
    when: { open: true, due: now, free: now, format: FORMAT },
    set: { status: 'running', leaseUntil: now + lease.ms, owner: lease.owner },
    setOnce: { startedAt: now },
    bump: ['epoch', 'claims'],
  }
}

export function* claim(storage: Storage, runId: string, lease: Lease): Procedure<Claimed | undefined> {
  for (;;) {
    const now = storage.now()
    const taken = yield* ask(storage.update(runId, claiming(lease, now)))
    if (taken.ok) return yield* loadClaimed(storage, taken.run)
    const there = taken.run
    if (there && there.format > FORMAT) refuseNewer(`run '${runId}'`, there.format)
    if (!there || hasEnded(there.status) || !isLeased(there, now)) return undefined
    // I6: the holder may be about to suspend; the mark makes it look again. No lease to mark any more: ours to take.
    const marked = yield* ask(storage.update(runId, { when: { open: true, leased: now }, bump: ['stimulus'] }))
    if (marked.ok) return undefined
  }
}

/**
 * I6: the stimulus counter came with the claim, before the messages are read. A sender puts the message first and
 * bumps the counter then, so a message that this load misses shows as a counter that has moved. In the other order
 * a message could arrive between the two reads and be counted without having been seen.
 */
function* loadClaimed(storage: Storage, run: StoredRun): Procedure<Claimed> {
  const record = yield* ask(storage.record(run))
  if (isUntouched(run)) return { run: record, frames: [], inbox: [], recovered: false, lastGoodEpoch: 0, deaths: 0 }
  const { heading, frames, inbox } = yield* ask(storage.load(run))
  // A runner before this one may have died between taking the starts and removing them.
  if (run.admission?.gathered) yield* removeStarts(storage, run, inbox)
  return {
    run: record,
    frames,
    inbox: inbox.filter(isForEngine),
    ...(heading && { begunAt: beginOf(heading) }),
    // A runner that releases a run takes its claim off the count.
    recovered: run.claims > 1,
    lastGoodEpoch: run.epoch - run.claims,
    deaths: deathsBefore(run, frames),
  }
}

/** A run that was never claimed before and to which nothing has come has nothing to load. */
const isUntouched = (run: StoredRun): boolean => run.epoch === 1 && run.stimulus === 0 && !run.hasSeed

/**
 * Claims that were neither released nor left a frame. The runner that wrote the last frame made progress, and died
 * later.
 */
function deathsBefore({ claims, spared = 0, epoch }: StoredRun, frames: readonly Frame[]): number {
  const last = frames.at(-1)
  return Math.min(claims - 1 - spared, last ? Math.max(0, epoch - 1 - last.epoch) : Number.POSITIVE_INFINITY)
}

export function* renew(
  storage: Storage,
  runId: string,
  epoch: number,
  lease: Lease,
  heartbeat: RunRecord['heartbeat'],
): Procedure<{ stimulus: number } | undefined> {
  const set = { leaseUntil: storage.now() + lease.ms, ...(heartbeat && { heartbeat }) }
  const renewed = yield* ask(storage.update(runId, { when: { heldBy: epoch }, set }))
  return renewed.ok ? { stimulus: renewed.run.stimulus } : undefined
}
