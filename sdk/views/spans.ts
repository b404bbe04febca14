import type { ErrorRecord, Frame, FrameEvent, JournalEvent } from '../base/events.ts'
import { fingerprint, withoutRepeats } from './fingerprint.ts'
import { placeOfNext, readTraceparent, SpanIds, type SpanPlace, type TracedRun } from './span-ids.ts'

/**
 * A history as a trace. Backends refuse old spans, so none lasts longer than a visit: the root is as long as
 * the first thing that happened, an attempt of a step is a span, and a wait is two short spans with a link
 * between them. No payload gets into a span; an error gives its name and its variable-free message.
 */
export interface Span extends SpanPlace {
  /** Every span but the root has the root as its parent. */
  parentSpanId?: string
  name: string
  kind: 'server' | 'internal'
  startMs: number
  endMs: number
  /** Spans may share one object. */
  attributes: SpanAttributes
  links: readonly SpanLink[]
  error?: SpanError
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

export interface SpanLink extends SpanPlace {
  /** `caller`: the creator of this generation. */
  what: 'caller' | 'begin' | 'next generation'
}

export interface SpanError {
  name: string
  code?: string
  /** The message without the parts that differ from run to run. */
  says: string
}

const NO_LINKS: readonly SpanLink[] = []

/**
 * Makes spans of a generation's frames, in the order in which they were written. Frames that an earlier visit
 * reported are noted only.
 */
export class SpanWriter {
  readonly ids: SpanIds
  private readonly run: TracedRun
  /** The attributes that most spans share, in one object: there may be ten thousand spans. */
  private readonly usual: SpanAttributes
  private isBegun = false
  private round = 0
  /** How often an operation was paused in its present attempt. */
  private readonly pauses = new Map<string, number>()
  /** The last attempt of a step that will be retried, and its round. */
  private readonly retried = new Map<string, { attempt: number; round: number }>()
  /** The round in which a wait began, for waits that began after round 0. */
  private readonly openedIn = new Map<string, number>()

  constructor(run: TracedRun) {
    this.run = run
    this.ids = new SpanIds(run)
    this.usual = { 'overwinter.run_id': run.runId }
  }

  /** The span that an attempt will have. */
  attemptAhead(operation: string, attempt: number): SpanPlace {
    return {
      traceId: this.ids.traceId,
      spanId: this.ids.attempt(operation, attempt, this.round, this.pauses.get(operation) ?? 0),
    }
  }

  /** The span that the begin of a wait will have, if it begins now. */
  beginAhead(operation: string): string {
    return this.ids.end('begins', operation, this.round)
  }

  /** The span that the begin of a wait had. */
  beginOf(operation: string): string {
    return this.ids.end('begins', operation, this.openedIn.get(operation) ?? 0)
  }

  /** The span that the end of the generation will have. */
  endAhead(): string {
    return this.ids.other('end', this.round)
  }

  /** For frames whose spans were sent already. */
  note(frame: Frame): void {
    if (isTakenOver(frame)) return
    this.isBegun = true
    for (const event of frame.events) this.learn(event)
  }

  write(frame: Frame, into: Span[]): void {
    if (isTakenOver(frame)) return
    for (const event of frame.events) {
      const at = frame.at + (event.dt ?? 0)
      if (!this.isBegun) into.push(this.root(event, at))
      this.isBegun = true
      const span = this.spanOf(event, at)
      if (span) into.push(span)
      this.learn(event)
    }
  }

  private learn(event: JournalEvent): void {
    switch (event.type) {
      case 'step.retrying':
        this.retried.set(event.id, { attempt: event.attempt, round: this.round })
        this.pauses.delete(event.id)
        break
      case 'step.paused':
        this.pauses.set(event.id, (this.pauses.get(event.id) ?? 0) + 1)
        break
      case 'run.retried':
        this.round++
        break
      case 'sleep.started':
      case 'wait.started':
      case 'callback.created':
      case 'child.started':
      case 'task.dispatched':
        if (this.round > 0) this.openedIn.set(event.id, this.round)
    }
  }

  private root(first: FrameEvent, at: number): Span {
    const { workflow, version, generation, trace } = this.run
    const caller = readTraceparent(trace)
    return {
      traceId: this.ids.traceId,
      spanId: this.ids.root,
      name: workflow,
      kind: 'server',
      startMs: at - lengthOf(first),
      endMs: at,
      attributes: {
        'overwinter.run_id': this.run.runId,
        'overwinter.workflow': workflow,
        'overwinter.version': version,
        'overwinter.generation': generation,
      },
      links: caller ? [{ ...caller, what: 'caller' }] : NO_LINKS,
    }
  }

  private spanOf(event: JournalEvent, at: number): Span | undefined {
    switch (event.type) {
      case 'step.completed':
        return this.attempt(event, event.attempt ?? 1, at)
      case 'step.retrying':
        return this.attempt(event, event.attempt, at, event.error)
      case 'step.paused':
        return this.attempt(event, (this.retried.get(event.id)?.attempt ?? 0) + 1, at)
      case 'step.failed':
        if (this.isBetweenAttempts(event)) return this.stopped(event.id, at, event.error)
        return this.attempt(event, event.attempt, at, event.error)
      case 'sleep.started':
        return this.begin('sleep', event.id, at)
      case 'wait.started':
        return this.begin('wait', event.id, at, { 'overwinter.signal': event.signal })
      case 'callback.created':
        return this.begin('callback', event.id, at)
      case 'child.started':
        return this.begin('child', event.id, at, {
          'overwinter.child.run_id': event.run,
          'overwinter.child.workflow': event.workflow,
        })
      case 'task.dispatched':
        return this.begin('task', event.id, at, { 'overwinter.task': event.task })
      case 'sleep.completed':
        return this.end('sleep', event.id, at)
      case 'wait.completed':
        return this.end('wait', event.id, at)
      case 'wait.timedOut':
        return this.end('wait', event.id, at, { 'overwinter.timed_out': true })
      case 'callback.completed':
        return this.end('callback', event.id, at)
      case 'child.completed':
      case 'child.detached':
        return this.end('child', event.id, at)
      case 'task.completed':
        return this.end('task', event.id, at)
      case 'callback.failed':
      case 'child.failed':
      case 'task.failed':
        return this.end(event.type.slice(0, event.type.indexOf('.')), event.id, at, {}, event.error)
      case 'run.cancelRequested':
        return this.point(this.ids.other(`cancel ${event.from}`, this.round), 'cancel requested', at)
      case 'run.timedOut':
        return this.point(this.ids.other(event.type, this.round), 'run timed out', at)
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled':
      case 'run.terminated':
        return this.point(
          this.endAhead(),
          event.type.replace('.', ' '),
          at,
          undefined,
          'error' in event ? event.error : undefined,
        )
      case 'run.continued':
        return this.handOn('run continued', at, at)
      case 'run.retrying':
        return this.handOn('run retrying', at, event.until, event.error)
      default:
        return undefined
    }
  }

  /** A step that was aborted between two attempts repeats the number of the last. */
  private isBetweenAttempts({ id, attempt }: { id: string; attempt: number }): boolean {
    const last = this.retried.get(id)
    return attempt === 0 || (last?.round === this.round && attempt <= last.attempt)
  }

  private attempt(
    event: JournalEvent & { id: string; ms?: number },
    attempt: number,
    at: number,
    error?: ErrorRecord,
  ): Span {
    const { id } = event
    const spanId = this.ids.attempt(id, attempt, this.round, this.pauses.get(id) ?? 0)
    const name = withoutRepeats(id)
    const about = this.about(id, name)
    const span = this.point(
      spanId,
      name,
      at,
      attempt === 1 ? about : { ...about, 'overwinter.attempt': attempt },
      error,
    )
    span.startMs = at - lengthOf(event)
    return span
  }

  private stopped(id: string, at: number, error: ErrorRecord): Span {
    return this.point(
      this.ids.other(`stopped ${id}`, this.round),
      `${withoutRepeats(id)} stopped`,
      at,
      this.about(id),
      error,
    )
  }

  private begin(kind: string, id: string, at: number, more: SpanAttributes = {}): Span {
    const attributes = { ...this.about(id), ...more }
    return this.point(this.beginAhead(id), `${kind} ${withoutRepeats(id)} begins`, at, attributes)
  }

  private end(kind: string, id: string, at: number, more: SpanAttributes = {}, error?: ErrorRecord): Span {
    const attributes = { ...this.about(id), ...more }
    const span = this.point(
      this.ids.end('ends', id, this.round),
      `${kind} ${withoutRepeats(id)} ends`,
      at,
      attributes,
      error,
    )
    span.links = [{ traceId: this.ids.traceId, spanId: this.beginOf(id), what: 'begin' }]
    return span
  }

  private handOn(name: string, at: number, next: number, error?: ErrorRecord): Span {
    const span = this.point(this.endAhead(), name, at, undefined, error)
    span.links = [{ ...placeOfNext(this.run, next), what: 'next generation' }]
    return span
  }

  private point(
    spanId: string,
    name: string,
    at: number,
    attributes: SpanAttributes = this.about(),
    error?: ErrorRecord,
  ): Span {
    const { traceId, root } = this.ids
    const span: Span = {
      traceId,
      spanId,
      parentSpanId: root,
      name,
      kind: 'internal',
      startMs: at,
      endMs: at,
      attributes,
      links: NO_LINKS,
    }
    if (error) span.error = this.errorOf(error)
    return span
  }

  /** Backends charge by the byte, so an attribute that repeats the name is left out. */
  private about(operation?: string, name?: string): SpanAttributes {
    return operation === undefined || operation === name
      ? this.usual
      : { ...this.usual, 'overwinter.operation': operation }
  }

  private errorOf(error: ErrorRecord): SpanError {
    const { name, code, says } = fingerprint(this.run.workflow, error)
    return { name, ...(code !== undefined && { code }), says }
  }
}

/** The spans of a whole generation. */
export function spansOf(run: TracedRun, frames: readonly Frame[]): Span[] {
  const writer = new SpanWriter(run)
  const spans: Span[] = []
  for (const frame of frames) writer.write(frame, spans)
  return spans
}

/** Frames that a rerun copied from another run are in that run's trace. No claim wrote them. */
const isTakenOver = ({ epoch }: Frame): boolean => epoch === 0

const lengthOf = (event: JournalEvent): number =>
  event.type.startsWith('step.') && 'ms' in event ? (event.ms ?? 0) : 0
