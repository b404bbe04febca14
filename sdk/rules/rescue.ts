import type { ErrorRecord, EventOf } from '../base/events.ts'
import { FORMAT } from '../base/names.ts'
import { isPause } from '../flow/limiter/pause-scope.ts'
import type { RunStatus } from '../ports/run.ts'
import type { Parked } from '../ports/run-store.ts'
import type { Wake } from '../ports/world.ts'
import { releaseRun } from './admit.ts'
import { ABANDONED } from './claim.ts'
import { outside, parked } from './commit.ts'
import { isLeased } from './guard.ts'
import { joinNext, lookForRoomOf } from './limiters/queueing.ts'
import { ask, type Procedure } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'
import { appendOutside } from './terminate.ts'

const NOT_REVIVED = { revived: false, wakes: [] }

/** Lets a failed run go on, with a word in its journal, or a stuck one. */
export function* revive(
  storage: Storage,
  runId: string,
  event: EventOf<'run.retried'> | undefined,
): Procedure<{ revived: boolean; wakes: Wake[] }> {
  const status: RunStatus = event ? 'failed' : 'stuck'
  const run = yield* ask(storage.find(runId))
  if (run?.status !== status) return NOT_REVIVED
  if (event && !(yield* journalRetry(storage, run, event))) return NOT_REVIVED
  const now = storage.now()
  // Effects that its holders left pending are still to be sent. Runners that died of it did so before it was fixed.
  const fields = { error: undefined, endedAt: undefined, ...(run.claims > 0 && { spared: run.claims }) }
  // Pauses that it has come to are over, or it comes to them again.
  const admission = run.admission && {
    ...run.admission,
    gates: run.admission.gates.filter(({ limit }) => !isPause(limit)),
  }
  const hasLimiters = admission !== undefined && admission.gates.length > 0 && !admission.gathering
  const set = {
    ...fields,
    ...(hasLimiters ? { status: 'queued' as const, wakeAt: undefined } : { status: 'pending' as const, wakeAt: now }),
    ...(admission && { admission, passed: 0 }),
  }
  const joinedAt = hasLimiters ? yield* joinNext(storage, { ...run, admission, passed: 0 }) : 0
  const updated = yield* ask(storage.update(run, { when: { status: [status] }, set }))
  if (!updated.ok) return NOT_REVIVED
  return {
    revived: true,
    wakes: hasLimiters ? yield* lookForRoomOf(storage, updated.run, joinedAt) : [{ runId, at: now }],
  }
}

/** True also when the event is there already: its writer died before the run itself said so. */
function* journalRetry(storage: Storage, run: StoredRun, event: EventOf<'run.retried'>): Procedure<boolean> {
  const frames = yield* ask(storage.frames(run, run.baseSeq + 1))
  if (frames.at(-1)?.events.at(-1)?.type === 'run.retried') return true
  return (yield* appendOutside(storage, run, frames, event)) !== undefined
}

/** On the same terms as a claim: a run that a runner holds, or that is not due, does not need this. */
export function* park(
  storage: Storage,
  runId: string,
  error: ErrorRecord,
  options?: { ifClaimed: true },
): Procedure<Parked> {
  const run = yield* ask(storage.find(runId))
  const now = storage.now()
  if (run?.wakeAt === undefined || run.wakeAt > now) return 'moved-on'
  if (isLeased(run, now)) return 'leased'
  if (options?.ifClaimed && !wasClaimed(run)) return 'unclaimed'
  // From the claims, the next runner sees that the last holder did not release the run; this took an epoch, as they
  // did.
  const set = {
    ...parked(error, now),
    ...ABANDONED,
    ...outside(run),
    ...(run.claims > 0 && { claims: run.claims + 1 }),
  }
  // The next epoch shuts out a runner whose lease ran out and who may come back to life.
  const updated = yield* ask(storage.update(run, { when: { open: true, due: now, free: now }, set, bump: ['epoch'] }))
  if (updated.ok) {
    yield* releaseRun(storage, run)
    return 'parked'
  }
  return updated.run && isLeased(updated.run, now) ? 'leased' : 'moved-on'
}

/**
 * Since it was last released, or an operator retried it. A claim of a newer format is refused before it counts, as
 * it always will be.
 */
const wasClaimed = ({ claims, spared = 0, format }: StoredRun): boolean => claims > spared || format > FORMAT
