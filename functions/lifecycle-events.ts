import type { ErrorRecord, EventType, Frame, JournalEvent } from '../sdk/base/events.ts'
import type { Waiting } from '../sdk/ports/run.ts'

/** The events about a run. Payloads stay in the table: a subscriber that may read them uses the API. */
export type LifecycleEvent =
  | { type: 'run.started' }
  /** `waits`: how many there are, if not all are listed. */
  | { type: 'run.paused'; waitingFor: Waiting[]; waits: number }
  | { type: 'step.completed'; step: string; resumedFromWait: boolean }
  | { type: 'step.failed'; step: string; resumedFromWait: boolean; error: ErrorSummary }
  | { type: 'run.completed' | 'run.cancelled' | 'run.terminated' }
  | { type: 'run.failed'; error: ErrorSummary }

type ErrorSummary = Pick<ErrorRecord, 'name' | 'message'>

/** How each journal event is reported. A new one does not compile until it is classified here. */
const KIND: Record<EventType, 'start of wait' | 'end of wait' | 'step' | 'run' | 'silent'> = {
  'step.started': 'silent',
  'step.queued': 'silent',
  'task.queued': 'silent',
  'step.admitted': 'silent',
  'task.admitted': 'silent',
  'step.completed': 'step',
  'step.retrying': 'start of wait',
  'step.checkpoint': 'silent',
  'step.paused': 'start of wait',
  'step.repeating': 'start of wait',
  'step.failed': 'step',
  'sleep.started': 'start of wait',
  'sleep.completed': 'end of wait',
  'wait.started': 'start of wait',
  'wait.completed': 'end of wait',
  'wait.timedOut': 'end of wait',
  'signal.rejected': 'silent',
  'request.replied': 'silent',
  'request.refused': 'silent',
  'callback.created': 'start of wait',
  'callback.rejected': 'silent',
  'callback.completed': 'end of wait',
  'callback.failed': 'end of wait',
  'child.started': 'start of wait',
  'child.detached': 'end of wait',
  'child.completed': 'end of wait',
  'child.failed': 'end of wait',
  'task.dispatched': 'start of wait',
  'task.completed': 'end of wait',
  'task.failed': 'end of wait',
  patch: 'silent',
  map: 'silent',
  decided: 'silent',
  changed: 'silent',
  'run.cancelRequested': 'silent',
  'run.timedOut': 'silent',
  'run.completed': 'run',
  'run.failed': 'run',
  'run.cancelled': 'run',
  'run.terminated': 'run',
  'run.continued': 'silent',
  'run.retrying': 'silent',
  'run.retried': 'silent',
  'run.rerun': 'silent',
}

/** The lifecycle events of a journal frame, in order. Waits that began in it are one pause, reported last. */
export function lifecycleOf(frame: Frame): LifecycleEvent[] {
  const found: LifecycleEvent[] = []
  const waits = new Map<string, Waiting>()
  for (const event of frame.events) {
    const kind = KIND[event.type]
    const id = 'id' in event ? event.id : ''
    if (kind === 'start of wait') waits.set(id, waitOf(event))
    if (kind === 'end of wait') waits.delete(id)
    if (event.type === 'decided') for (const withdrawn of event.withdrawn ?? []) waits.delete(withdrawn)
    if (kind === 'step' || kind === 'end of wait') found.push(settled(event, id, kind === 'end of wait'))
    if (kind === 'run') found.push(ended(event))
  }
  const hasEnded = frame.events.some(({ type }) => KIND[type] === 'run')
  if (waits.size === 0 || hasEnded) return found
  return [...found, { type: 'run.paused', waitingFor: [...waits.values()].slice(0, MOST_WAITS), waits: waits.size }]
}

function settled(event: JournalEvent, step: string, resumedFromWait: boolean): LifecycleEvent {
  return 'error' in event
    ? { type: 'step.failed', step, resumedFromWait, error: summary(event.error) }
    : { type: 'step.completed', step, resumedFromWait }
}

function ended(event: JournalEvent): LifecycleEvent {
  return event.type === 'run.failed'
    ? { type: event.type, error: summary(event.error) }
    : { type: event.type as 'run.completed' | 'run.cancelled' | 'run.terminated' }
}

const WAIT_KIND: Partial<Record<EventType, Waiting['kind']>> = {
  'sleep.started': 'sleep',
  'wait.started': 'signal',
  'callback.created': 'callback',
  'child.started': 'child',
  'task.dispatched': 'task',
  'step.retrying': 'retry',
  'step.paused': 'pause',
  'step.repeating': 'until',
}

function waitOf(event: JournalEvent): Waiting {
  const { id, until, signal, run, task } = event as {
    id: string
    until?: number
    signal?: string
    run?: string
    task?: string
  }
  const on = signal ?? run ?? task
  return { kind: WAIT_KIND[event.type]!, id, ...(on !== undefined && { on }), ...(until !== undefined && { until }) }
}

/** Entries of an event bus are limited to 256 KB. */
const MOST_WAITS = 50
const LONGEST_MESSAGE = 1_000

function summary({ name, message }: ErrorRecord): ErrorSummary {
  return { name, message: message.slice(0, LONGEST_MESSAGE) }
}
