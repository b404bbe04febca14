import {
  type CoalescedStarts,
  type CoalescingTimes,
  type Collected,
  decide,
  isCoalescing,
  SERIES,
  type Series,
  type SeriesEndMail,
  type StartMail,
  seriesEnd,
  seriesOf,
  slotOf,
} from '../../flow/coalescing/coalescing.ts'
import type { Wake } from '../../ports/world.ts'
import { ask, type Procedure, together } from '../procedure.ts'
import type { Storage, StoredRun } from '../storage.ts'
import { beginNow, closedSlot, countedBy, isOf, missingIn, startsOf } from './series.ts'

/** What a runner does with the starts of the run that it holds. `closes`: slots whose start has not come are closed. */
export function* collect(
  storage: Storage,
  runId: string,
  times: CoalescingTimes,
  closes: boolean,
): Procedure<Collected> {
  for (;;) {
    const run = yield* ask(storage.find(runId))
    const starts = run && startsOf(run)
    // In other hands, or ended: the runner's next commit is refused.
    if (!run || !starts) return { lookAt: storage.now() }
    // The count first: a start counts before it fills its slot.
    const counted = yield* countedBy(storage, run, starts)
    const mail = (yield* ask(storage.messages(run))).filter(isCoalescing)
    const all = mail.filter((each): each is StartMail => each.kind === 'start')
    const ends = mail.filter((each): each is SeriesEndMail => each.kind === 'starts end')
    const filled = [{ slot: starts.slot!, at: run.createdAt }, ...all.filter(({ closed }) => !closed)]
    const saidToBeLast = Math.max(0, ...ends.map(({ slot }) => slot))
    const seen = { starts, createdAt: run.createdAt, filled, saidToBeLast, ...(counted !== undefined && { counted }) }
    const decision = decide(seen, times, storage.now())
    if ('lookAt' in decision) return decision
    if ('endAt' in decision) {
      yield* ask(storage.putMessage(run, seriesEnd(decision.endAt)))
      const { key, series, size } = starts
      const value = { run: series!, ...(size !== undefined && { size }) }
      const version = starts.first + decision.endAt - 1
      if (!(yield* ask(storage.documents.endCount(seriesOf(run.workflow, key), SERIES, value, version)))) continue
    }
    const last = 'last' in decision ? decision.last : decision.endAt
    const missing = missingIn(starts, [...all, { slot: starts.slot! }], last)
    if (missing.length === 0) return { starts: inOrder(all) }
    if (!closes) return { isMissing: true }
    const put = yield* together(missing.map((slot) => ask(storage.putMessage(run, closedSlot(slot, storage.now())))))
    // One that came at the last moment counts.
    if (put.every((each) => each === 'new')) return { starts: inOrder(all) }
  }
}

const inOrder = (all: readonly StartMail[]): StartMail[] =>
  all.filter(({ closed }) => !closed).sort((a, b) => a.slot - b.slot)

/**
 * For a runner that has just given the run up to wait for more starts. The start that filled the batch meanwhile found
 * the run in the runner's hands; it counted before it looked, and the runner looks after it let go: one sees the other.
 */
export function* beginIfFull(storage: Storage, runId: string): Procedure<Wake[]> {
  const run = yield* ask(storage.find(runId))
  const starts = run && startsOf(run)
  if (!starts?.series || starts.size === undefined) return []
  const counted = yield* countedBy(storage, run!, starts)
  return counted !== undefined && counted >= starts.first + starts.size - 1 ? yield* beginNow(storage, run!) : []
}

/** Starts that a run has taken, or takes no more. What closes a slot stays: its start may still be on its way. */
export function* removeStarts(
  storage: Storage,
  run: StoredRun,
  mail?: readonly { kind: string; id: string }[],
): Procedure<void> {
  const all = mail ?? (yield* ask(storage.messages(run)))
  const ids = (all as StartMail[]).filter(({ kind, closed }) => kind === 'start' && !closed).map(({ id }) => id)
  if (ids.length > 0) yield* ask(storage.removeMessages(run, ids))
}

/** For a run that ended before it took its starts: they go, and later ones are counted for another run. */
export function* abandonStarts(storage: Storage, run: StoredRun, starts: CoalescedStarts): Procedure<void> {
  const collection = seriesOf(run.workflow, starts.key)
  const found = yield* ask(storage.documents.get(collection, SERIES))
  const isLast =
    found && isOf(found, starts) && slotOf(found.value as unknown as Series, found.version).runId === run.id
  if (isLast) yield* ask(storage.documents.endCount(collection, SERIES, found.value, found.version))
  yield* removeStarts(storage, run)
}
