import type { Frame, FrameEvent } from '../base/events.ts'
import type { RunView } from '../client/client.ts'
import type { HistoryEvent } from '../client/history.ts'
import type { TracedRun } from './span-ids.ts'
import { type Span, spansOf } from './spans.ts'

/**
 * The trace of a run's generation from its public history: the same spans, with the same ids, that were sent
 * when it happened.
 */
export function traceOf(run: RunView, history: readonly HistoryEvent[]): Span[] {
  const events = history.filter(({ type }) => type !== 'run.started')
  const first = events[0]
  const heading =
    run.generation > 0 && (first?.type === 'run.continued' || first?.type === 'run.retrying') ? first : undefined
  const begunAt = heading?.type === 'run.retrying' ? heading.until : (heading?.at ?? run.startedAt ?? run.createdAt)
  const { runId, workflow, version, generation, createdAt, trace } = run
  const of: TracedRun = { runId, workflow, version, generation, createdAt, begunAt, trace }
  return spansOf(of, events.slice(heading ? 1 : 0).map(asFrame))
}

function asFrame({ at, n: _, visit = 0, ...event }: HistoryEvent, i: number): Frame {
  return { seq: i + 1, at, epoch: visit, events: [event as FrameEvent] }
}
