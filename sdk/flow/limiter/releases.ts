import type { Frame, JournalEvent } from '../../base/events.ts'
import type { Outgoing } from '../../ports/commit.ts'
import type { RunRecord } from '../../ports/run.ts'
import type { Admission } from '../admission.ts'
import { limiterOf } from './limiter.ts'
import { type LoggedPermit, openPermits, releasedSince } from './permit-log.ts'

/** What a run releases, worked out from what is stored of it. Releasing twice is harmless. */
type Releasing = Extract<Outgoing, { kind: 'release' }>
type OfRun = Pick<RunRecord, 'id' | 'format' | 'generation'> & {
  admission?: Admission | undefined
  passed?: number | undefined
}

/** Of the limiters that the run itself has passed, and of the one that it is queued at. */
export function releasesOfRun({ id, admission, passed = 0 }: Pick<OfRun, 'id' | 'admission' | 'passed'>): Releasing[] {
  if (!admission) return []
  return admission.gates.slice(0, passed + 1).flatMap(({ lane = '', grant, holds, ...limiter }, i) => {
    const slot = grant?.slot === undefined ? {} : { slot: grant.slot }
    const release = { ...releaseOf({ limiter: limiterOf(limiter), holder: id, order: admission.order }), lane, ...slot }
    const isReserved = grant !== undefined && grant.at > grant.by
    // A slot may have been taken for it in the queue.
    const state = i === passed ? 'queued' : isReserved ? 'reserved' : holds ? 'held' : 'used'
    // It was granted a time once, and is queued here again.
    return isReserved && i === passed
      ? [
          { ...release, state: 'reserved' },
          { ...release, state },
        ]
      : [{ ...release, state }]
  })
}

/** What the steps and tasks of a generation may hold, or have in queues, at its end. */
const releasesAtEnd = (run: OfRun, events: readonly JournalEvent[]): Releasing[] =>
  openPermits(run, events).map(releaseOf)

/** Everything that a run may hold at its end. */
export const allReleases = (run: OfRun, events: readonly JournalEvent[]): Releasing[] => [
  ...releasesOfRun(run),
  ...releasesAtEnd(run, events),
]

/** What runners that died may have journaled as released, and not released. */
export const releasesToRepeat = (run: OfRun, frames: readonly Frame[], lastGoodEpoch: number): Releasing[] =>
  releasedSince(run, frames, lastGoodEpoch).map(releaseOf)

/** Of a permit of which no more is known: it may be queued, granted or gone. */
export const releaseOf = ({
  limiter,
  holder,
  order,
}: Pick<LoggedPermit, 'limiter' | 'holder' | 'order'>): Releasing => ({
  kind: 'release',
  limiter,
  holder,
  lane: '',
  order,
  state: 'queued',
})
