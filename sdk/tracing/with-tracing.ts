import { context, createContextKey, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { overrideMethods } from '../base/override-methods.ts'
import type { Commit, CommitResult, Outgoing } from '../ports/commit.ts'
import type { RunStore } from '../ports/run-store.ts'
import type { AroundBody, LogSink, World } from '../ports/world.ts'
import { traceparentOf } from '../views/span-ids.ts'
import type { Span } from '../views/spans.ts'
import { Visit } from './visit.ts'

/**
 * Takes the spans of a visit. It must return at once: the run has ended already, but other work may wait for
 * this process.
 */
export interface SpanSink {
  add(spans: readonly Span[]): void
}

/**
 * The same world, which sends spans of every visit when it is over, and runs step bodies in the context of
 * their spans.
 */
export function withTracing<W extends World>(world: W, sink: SpanSink): W {
  const visits = new Map<string, Visit>()
  return Object.create(world, {
    store: { value: tracedStore(world.store, visits, sink), enumerable: true },
    log: { value: tracedLog(world.log, visits), enumerable: true },
    aroundBody: { value: inItsSpan(visits), enumerable: true },
  }) as W
}

/** Observes claims and commits only. */
function tracedStore(store: RunStore, visits: Map<string, Visit>, sink: SpanSink): RunStore {
  const tell = (commit: Commit, visit: Visit, result: CommitResult) => {
    const isOver = visit.noteCommit(commit, result)
    if (isOver) visits.delete(commit.runId)
    if (isOver === 'released') sink.add(visit.spans)
  }
  return overrideMethods(store, {
    claim: async (runId, lease) => {
      const claimed = await store.claim(runId, lease)
      if (claimed) visits.set(runId, new Visit(claimed))
      return claimed
    },
    commit: (commit) => {
      const visit = visits.get(commit.runId)
      if (visit?.epoch !== commit.epoch) return store.commit(commit)
      const committed = store.commit(linked(commit, visit))
      // The spans are handed over before the caller's continuation runs, and do not delay it.
      committed.then((result) => tell(commit, visit, result), nothingToTell)
      return committed
    },
  })
}

const nothingToTell = (): void => {}

/** Adds the trace context to the children and generations that this commit creates. */
function linked(commit: Commit, visit: Visit): Commit {
  const { outgoing, next } = commit
  const makesRuns = outgoing?.some(({ kind }) => kind === 'start')
  if (!makesRuns && next.kind !== 'continue') return commit
  return {
    ...commit,
    ...(makesRuns && { outgoing: outgoing!.map((each) => withParent(each, commit, visit)) }),
    ...(next.kind === 'continue' && { next: { ...next, trace: traceparentOf(visit.end) } }),
  }
}

function withParent(outgoing: Outgoing, { frame }: Commit, visit: Visit): Outgoing {
  const place = outgoing.kind === 'start' ? visit.startOf(outgoing.run, frame) : undefined
  return outgoing.kind === 'start' && place
    ? { ...outgoing, run: { ...outgoing.run, trace: traceparentOf(place) } }
    : outgoing
}

function tracedLog(log: LogSink, visits: Map<string, Visit>): LogSink {
  return (level, message, fields) => {
    const { runId, step, attempt } = fields
    const visit = typeof runId === 'string' ? visits.get(runId) : undefined
    if (!visit) return log(level, message, fields)
    const place = typeof step === 'string' && typeof attempt === 'number' ? visit.attempt(step, attempt) : visit.root
    log(level, message, { ...fields, traceId: place.traceId, spanId: place.spanId })
  }
}

/**
 * Spans that the body creates, or code that it calls, become children of the attempt's span. There are none
 * unless the user has registered a provider.
 */
function inItsSpan(visits: Map<string, Visit>): AroundBody {
  return ({ runId, step, attempt }, body) => {
    const visit = hasContextManager() ? visits.get(runId) : undefined
    if (!visit) return body()
    const { traceId, spanId } = attempt === undefined ? visit.root : visit.attempt(step, attempt)
    return context.with(trace.setSpanContext(context.active(), { traceId, spanId, traceFlags: SAMPLED }), body)
  }
}

const SAMPLED = 1
const MARKED = ROOT_CONTEXT.setValue(createContextKey('overwinter'), true)

/** Without a context manager, contexts have no effect and need not be created. */
const hasContextManager = (): boolean => context.with(MARKED, context.active, context) === MARKED
