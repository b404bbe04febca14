import {
  type CoalescedStarts,
  SERIES,
  type Series,
  type StartMail,
  seriesEnd,
  seriesOf,
  slotId,
  slotOf,
} from '../../flow/coalescing/coalescing.ts'
import type { Document } from '../../ports/documents.ts'
import { hasEnded } from '../../ports/run.ts'
import type { Wake } from '../../ports/world.ts'
import { ask, type Procedure } from '../procedure.ts'
import type { Storage, StoredRun } from '../storage.ts'

export const startsOf = ({ admission }: StoredRun): CoalescedStarts | undefined => admission?.gathering

export const isOf = ({ value }: Document, { series }: CoalescedStarts): boolean =>
  (value as unknown as Series).run === series

export const takesStarts = (run: StoredRun, { run: series }: Series): boolean =>
  !hasEnded(run.status) && startsOf(run)?.series === series

export function* countedBy(
  storage: Storage,
  { workflow }: StoredRun,
  starts: CoalescedStarts,
): Procedure<number | undefined> {
  const found = yield* ask(storage.documents.get(seriesOf(workflow, starts.key), SERIES))
  return found && isOf(found, starts) ? found.version : undefined
}

/** Of a debounced run only the last start counts: those before it need not be waited for. */
export function missingIn({ size }: CoalescedStarts, there: readonly { slot: number }[], last: number): number[] {
  const slots = new Set(there.map(({ slot }) => slot))
  const from = size === undefined ? Math.max(...slots) : 0
  return Array.from({ length: Math.max(0, last - from) }, (_, i) => from + 1 + i).filter((slot) => !slots.has(slot))
}

export const closedSlot = (slot: number, at: number): StartMail => ({
  kind: 'start',
  id: slotId(slot),
  slot,
  at,
  closed: true,
})

export function* beginNow(storage: Storage, run: StoredRun, bump: readonly 'stimulus'[] = []): Procedure<Wake[]> {
  const now = storage.now()
  if (run.status !== 'pending' || !startsOf(run) || run.wakeAt === undefined || run.wakeAt <= now) return []
  const updated = yield* ask(storage.update(run, { when: { status: ['pending'] }, set: { wakeAt: now }, bump }))
  return updated.ok ? [{ runId: run.id, at: now }] : []
}

/** Ends a series whose last run takes no more starts. Refused where another start was counted: that one looks again. */
export function* endSeries(storage: Storage, collection: string, series: Series): Procedure<void> {
  const found = yield* ask(storage.documents.get(collection, SERIES))
  if (!found || (found.value as unknown as Series).run !== series.run) return
  const { runId, slot } = slotOf(series, found.version)
  const last = yield* ask(storage.find(runId))
  // The runner that takes that run up has to know how many starts were counted for it.
  if (last && takesStarts(last, series)) yield* ask(storage.putMessage(last, seriesEnd(slot)))
  yield* ask(storage.documents.endCount(collection, SERIES, found.value, found.version))
}
