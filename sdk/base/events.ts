import type { Json } from './json.ts'

/** An error as the journal keeps it. */
export interface ErrorRecord {
  name: string
  message: string
  stack?: string
  code?: string | number
  cause?: ErrorRecord
  /** Of an AggregateError. */
  errors?: ErrorRecord[]
  /** Whatever else the error carried, as far as JSON can hold it. */
  fields?: { [key: string]: Json }
  /** Of a StepError: the step that failed, and after how many attempts. */
  step?: string
  attempts?: number
  /** Which child run ended badly, and how (a ChildRunError). */
  runId?: string
  status?: string
  /** When the run got stuck with it. Errors of stuck runs of 0.1.0 do not say. */
  at?: number
}

export type OnParentEnd = 'cancel' | 'terminate' | 'abandon'

/**
 * Everything a journal can say. `id` is always the identity of an operation (scope path, name, repeat).
 * Times are epoch milliseconds. The time at which an event was observed is its frame's.
 */
export type JournalEvent =
  /** Only for at-most-once steps: the attempt is on record before its body runs. */
  | { type: 'step.started'; id: string; attempt: number }
  /**
   * It asks a limiter for its nth permit. Journaled before it does, so that the runner that ends or recovers the run
   * knows what the run may hold. `order`: its place in the queue.
   */
  | { type: 'step.queued'; id: string; limit: string; key?: string; order: number; nth: number }
  | { type: 'task.queued'; id: string; limit: string; key?: string; order: number; nth: number }
  /** It got the permit, later than it asked. In journals of earlier versions it was not journaled before. */
  | { type: 'step.admitted'; id: string; limit: string; key?: string; order: number; notBefore?: number }
  | { type: 'task.admitted'; id: string; limit: string; key?: string; order: number; notBefore?: number }
  /**
   * `timedOut`: an `until` whose time was up. `inputDigest`, here and below: of what the code said the body works
   * with.
   */
  | {
      type: 'step.completed'
      id: string
      result?: Json
      attempt?: number
      ms?: number
      timedOut?: true
      inputDigest?: string
    }
  /** The first round of an `until` was in vain. The others are not journaled. `until`: when it is over anyway. */
  | { type: 'step.repeating'; id: string; until?: number }
  /** `of`: how many attempts there are at most. `ms`, here and below: how long this one took. */
  | {
      type: 'step.retrying'
      id: string
      attempt: number
      of?: number
      ms?: number
      error: ErrorRecord
      until: number
      inputDigest?: string
    }
  | { type: 'step.checkpoint'; id: string; data: Json; inputDigest?: string }
  | { type: 'step.paused'; id: string; name: string; ms?: number; until: number; data?: Json; inputDigest?: string }
  | { type: 'step.failed'; id: string; attempt: number; error: ErrorRecord; ms?: number; inputDigest?: string }
  | { type: 'sleep.started'; id: string; until: number; ms?: number }
  /** `skippedBy`: the message with which a caller outside woke the run before its time. */
  | { type: 'sleep.completed'; id: string; skippedBy?: string }
  | { type: 'wait.started'; id: string; signal: string; until?: number; ms?: number }
  | { type: 'wait.completed'; id: string; from: string; payload?: Json }
  | { type: 'wait.timedOut'; id: string }
  /** A signal that does not fit the schema of the wait that met it: kept on record, not delivered. */
  | { type: 'signal.rejected'; id: string; from: string; reason: string }
  /** What the code said to the message that asked (`to`), through the wait that took it. */
  | { type: 'request.replied'; id: string; to: string; result?: Json }
  | { type: 'request.refused'; id: string; to: string; error: ErrorRecord }
  /**
   * `checked`: what completes it has to fit a schema. `raw`: it takes requests as they come. `beatMs`: how long it
   * may be without a sign of life, and `beatBy` when the first one is due. `address`: what its URL begins with, which
   * may be another one today.
   */
  | {
      type: 'callback.created'
      id: string
      until?: number
      ms?: number
      checked?: true
      raw?: true
      beatMs?: number
      beatBy?: number
      address?: string
    }
  /** A result that does not fit the schema: kept on record, not delivered. The run waits on. */
  | { type: 'callback.rejected'; id: string; from: string; reason: string }
  | { type: 'callback.completed'; id: string; result?: Json }
  | { type: 'callback.failed'; id: string; error: ErrorRecord }
  | {
      type: 'child.started'
      id: string
      run: string
      workflow: string
      version: number
      input?: Json
      detached?: true
      onParentEnd: OnParentEnd
    }
  /** A detached child has been accepted. */
  | { type: 'child.detached'; id: string }
  | { type: 'child.completed'; id: string; result?: Json }
  | { type: 'child.failed'; id: string; error: ErrorRecord }
  /** `task`: its type, by which workers ask for it. */
  | { type: 'task.dispatched'; id: string; task: string; input?: Json }
  | { type: 'task.completed'; id: string; result?: Json; attempt?: number; iteration?: number }
  | { type: 'task.failed'; id: string; attempt: number; error: ErrorRecord }
  | { type: 'patch'; id: string }
  /** What a map goes over: how many items, and a digest of them, or of their keys, so that a change is noticed. */
  | { type: 'map'; id: string; count: number; digest: string; isKeyed?: true }
  /** A race, or a map, is decided: who won it, or failed, and which operations were withdrawn with the others. */
  | { type: 'decided'; id: string; won?: string[]; failed?: string; withdrawn?: string[] }
  /**
   * The first event of a run that repeats another one: from there on it draws the numbers that the other one drew.
   * Without `from` it begins at the beginning, with numbers of its own. `by`: the run that started it, where many
   * were rerun at once.
   */
  | { type: 'run.rerun'; of: string; generation: number; from?: string; by?: string }
  /** The code now asks for another duration than the journaled one, which stands. */
  | { type: 'changed'; id: string; field: string; journaled: Json; now: Json }
  | { type: 'run.cancelRequested'; from: string; reason?: string }
  | { type: 'run.timedOut' }
  | { type: 'run.completed'; output?: Json; abandoned?: string[] }
  /** `because`: the operations whose failures the error goes back to, as far as it tells. */
  | { type: 'run.failed'; error: ErrorRecord; because?: string[]; compensated?: true; abandoned?: string[] }
  | { type: 'run.cancelled'; reason?: string; abandoned?: string[] }
  | { type: 'run.terminated'; reason?: string }
  /** The first event of the next generation: continue-as-new, or the workflow's own retry policy. */
  | { type: 'run.continued'; input?: Json }
  | { type: 'run.retrying'; error: ErrorRecord; attempt: number; until: number }
  /**
   * An operator asked a failed run to go on: the failures of these operations no longer count. `key` tells a repeated
   * request. In format 1 it names one step.
   */
  | { type: 'run.retried'; ops?: string[]; step?: string; key?: string }

export type EventType = JournalEvent['type']
export type EventOf<T extends EventType> = Extract<JournalEvent, { type: T }>

export type OpKind = 'step' | 'sleep' | 'wait' | 'callback' | 'child' | 'task'

type OperationEvent = Extract<JournalEvent, { type: `${OpKind}.${string}` }>

/** Which kind of operation an event speaks of: its name begins with it. */
export const opKindOf = (type: OperationEvent['type']): OpKind => type.slice(0, type.indexOf('.')) as OpKind

/**
 * What replay does with an event. `fact`: it is looked up when its operation is called. `settles`: it is
 * delivered to workflow code, in journal order. `stops`: so is it, and it concerns the run as a whole, as does `run`.
 * `remark`: it is noted. A new event type does not compile until it is classified here, and read where its role is.
 */
export const EVENT_ROLE = {
  'step.started': 'fact',
  'step.queued': 'fact',
  'task.queued': 'fact',
  'step.admitted': 'fact',
  'task.admitted': 'fact',
  'step.completed': 'settles',
  'step.retrying': 'fact',
  'step.checkpoint': 'fact',
  'step.paused': 'fact',
  'step.repeating': 'fact',
  'step.failed': 'settles',
  'sleep.started': 'fact',
  'sleep.completed': 'settles',
  'wait.started': 'fact',
  'wait.completed': 'settles',
  'wait.timedOut': 'settles',
  'signal.rejected': 'remark',
  'request.replied': 'remark',
  'request.refused': 'remark',
  'callback.created': 'fact',
  'callback.rejected': 'remark',
  'callback.completed': 'settles',
  'callback.failed': 'settles',
  'child.started': 'fact',
  'child.detached': 'settles',
  'child.completed': 'settles',
  'child.failed': 'settles',
  'task.dispatched': 'fact',
  'task.completed': 'settles',
  'task.failed': 'settles',
  patch: 'remark',
  map: 'remark',
  decided: 'remark',
  changed: 'remark',
  'run.rerun': 'remark',
  'run.cancelRequested': 'stops',
  'run.timedOut': 'stops',
  'run.completed': 'run',
  'run.failed': 'run',
  'run.cancelled': 'run',
  'run.terminated': 'run',
  'run.continued': 'run',
  'run.retrying': 'run',
  'run.retried': 'run',
} as const satisfies Record<EventType, 'fact' | 'settles' | 'stops' | 'run' | 'remark'>

type Role = (typeof EVENT_ROLE)[EventType]
type EventOfRole<R extends Role> = EventOf<
  { [T in EventType]: (typeof EVENT_ROLE)[T] extends R ? T : never }[EventType]
>

/** What is handed to workflow code, in this order. */
export type Delivery = EventOfRole<'settles' | 'stops'>
export type FactEvent = EventOfRole<'fact'>
export type Remark = EventOfRole<'remark'>

export function isDelivery(event: JournalEvent): event is Delivery {
  const role: Role = EVENT_ROLE[event.type]
  return role === 'settles' || role === 'stops'
}
export const isFact = (event: JournalEvent): event is FactEvent => EVENT_ROLE[event.type] === 'fact'
export const isRemark = (event: JournalEvent): event is Remark => EVENT_ROLE[event.type] === 'remark'

/** As messages to people name it. */
export function describeDelivery(event: Delivery): string {
  return 'id' in event
    ? `${opKindOf(event.type)} '${event.id}'`
    : event.type === 'run.timedOut'
      ? 'the timeout of the run'
      : 'the cancellation of the run'
}

export type TerminalEvent = EventOf<'run.completed' | 'run.failed' | 'run.cancelled' | 'run.terminated'>

const TERMINAL: ReadonlySet<EventType> = new Set<EventType>([
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.terminated',
])

export function isTerminal(event: JournalEvent): event is TerminalEvent {
  return TERMINAL.has(event.type)
}

/** One slot of a run's journal: events that became durable together. */
export interface Frame {
  seq: number
  /** When its first event was observed. Never earlier than the frame before it. */
  at: number
  /** Which claim of the run wrote it. */
  epoch: number
  events: FrameEvent[]
}

/** `dt`: how many milliseconds after the frame's first event this one was observed, where it was not the same one. */
export type FrameEvent = JournalEvent & { dt?: number }
