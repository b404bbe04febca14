import type { Frame, JournalEvent } from '../../base/events.ts'
import type { Outgoing } from '../../ports/commit.ts'
import type { RunRecord } from '../../ports/run.ts'
import type { Admission } from '../admission.ts'
import { limiterOf } from './limiter.ts'
import { type LoggedPermit, openPermits, releasedSince } from './permit-log.ts'

/** What a run gives back, worked out from what is stored of it. Giving back twice is harmless. */
type Releasing = Extract<Outgoing, { kind: 'release' }>
type OfRun = Pick<RunRecord, 'id' | 'format' | 'generation'> & {
  admission?: Admission | undefined
  passed?: number | undefined
}

/** The limiters that the run itself has passed, and the one that it is queued at. */
export function releasesOfRun({ id, admission, passed = 0 }: Pick<OfRun, 'id' | 'admission' | 'passed'>): Releasing[] {
  if (!admission) return []
  return admission.gates.slice(0, passed + 1).map(({ lane = '', grant, holds, ...gate }, i) => ({
    kind: 'release',
    limiter: limiterOf(gate),
    holder: id,
    lane,
    order: admission.order,
    isQueued: i === passed,
    ...(grant?.slot !== undefined && { slot: grant.slot }),
    ...(grant && grant.at > grant.by && { isReserved: true }),
    // A slot may have been taken for it in the queue.
    mayHold: holds === true,
  }))
}

/** What the steps and tasks of a generation may hold, or have in queues, at its end. */
const releasesAtEnd = (run: OfRun, events: readonly JournalEvent[]): Releasing[] =>
  openPermits(run, events).map(released)

/** Everything that a run may hold at its end. */
export const allReleases = (run: OfRun, events: readonly JournalEvent[]): Releasing[] => [
  ...releasesOfRun(run),
  ...releasesAtEnd(run, events),
]

/** What runners that died may have journaled as released, and not released. */
export const releasesToRepeat = (run: OfRun, frames: readonly Frame[], lastGoodEpoch: number): Releasing[] =>
  releasedSince(run, frames, lastGoodEpoch).map(released)

export const released = ({
  limiter,
  holder,
  order,
}: Pick<LoggedPermit, 'limiter' | 'holder' | 'order'>): Releasing => ({
  kind: 'release',
  limiter,
  holder,
  lane: '',
  order,
  isQueued: true,
})
