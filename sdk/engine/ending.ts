import { recordError } from '../base/error-records.ts'
import { CancelledError, InvalidInputError, StepError } from '../base/errors.ts'
import type { ErrorRecord, EventOf, EventType, JournalEvent, OnParentEnd, TerminalEvent } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import { taskId } from '../base/names.ts'
import { validate } from '../base/schema.ts'
import { encode } from '../base/values.ts'
import type { Outgoing } from '../ports/commit.ts'
import type { EndStatus, Message, ParentLink, RunRecord } from '../ports/run.ts'
import type { AnyWorkflow } from '../workflow.ts'
import type { CodeEnd } from './replay.ts'

export const END_STATUS: Record<TerminalEvent['type'], EndStatus> = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
  'run.terminated': 'terminated',
}

/** What a run's end leaves as its output or its error. */
export function outcomeOf(event: TerminalEvent): { output?: Json; error?: ErrorRecord } {
  switch (event.type) {
    case 'run.completed':
      return event.output === undefined ? {} : { output: event.output }
    case 'run.failed':
      return { error: event.error }
    case 'run.cancelled':
      return { error: { name: 'CancelledError', message: event.reason ?? END_STATUS[event.type] } }
    case 'run.terminated':
      return { error: { name: 'TerminatedError', message: event.reason ?? END_STATUS[event.type] } }
  }
}

/** The terminal event for code that returned or threw. */
export async function terminalEvent(
  workflow: AnyWorkflow,
  end: Exclude<CodeEnd, { kind: 'continued' }>,
  stopRequested: Error | undefined,
): Promise<TerminalEvent> {
  if (end.kind === 'threw') {
    if (!stopRequested || !isCancellation(end.error)) return { type: 'run.failed', error: recordError(end.error) }
    if (stopRequested instanceof CancelledError) return { type: 'run.cancelled', reason: stopRequested.message }
    return { type: 'run.failed', error: recordError(stopRequested) }
  }
  try {
    const what = `the output of workflow '${workflow.name}'`
    const checked = await validate(workflow.options.output, end.value)
    if (!checked.ok)
      throw new InvalidInputError(
        `${what} does not fit its schema; change what the workflow returns, or the schema`,
        checked.problems,
      )
    const output = encode(checked.value, what)
    return { type: 'run.completed', ...(output !== undefined && { output }) }
  } catch (error) {
    return { type: 'run.failed', error: recordError(error) }
  }
}

/** The error that a whole-run retry policy judges: the cause of a step that failed for good. */
export function rootError(error: Error): Error {
  return error instanceof StepError && error.cause instanceof Error ? error.cause : error
}

/** The events that an end is worked out from: what the run has started elsewhere, and what became of it. */
export const READ_AT_END: ReadonlySet<EventType> = new Set<EventType>([
  'child.started',
  'child.detached',
  'child.completed',
  'child.failed',
  'task.dispatched',
  'task.completed',
  'task.failed',
  'decided',
  'run.cancelRequested',
])

/**
 * What the end of a run means for others: its parent gets a message, its children end as they asked for, its tasks
 * are withdrawn. Worked out from events alone, so that the runner that finishes a dead runner's work does the same.
 */
export function outgoingAtEnd(
  run: Ending,
  terminal: TerminalEvent,
  seq: number,
  events: readonly JournalEvent[],
): Outgoing[] {
  const started = outgoingToStarted(run, `ended (${END_STATUS[terminal.type]})`, events)
  if (!run.parent) return started
  const output = terminal.type === 'run.completed' ? terminal.output : undefined
  const error = terminal.type === 'run.failed' ? terminal.error : undefined
  const message = messageOfEnd(run.id, run.parent, seq, END_STATUS[terminal.type], output, error)
  return [{ kind: 'deliver', to: run.parent.runId, message }, ...started]
}

/** What the end of a run is worked out from, beside its journal. */
type Ending = Pick<RunRecord, 'id' | 'format' | 'generation' | 'createdAt' | 'parent'>

/**
 * `seq`: the slot of the frame that ended it. A run that failed and was retried ends a second time, in another
 * slot.
 */
export function messageOfEnd(
  run: string,
  parent: ParentLink,
  seq: number,
  status: EndStatus,
  result?: Json,
  error?: ErrorRecord,
): Message {
  const { op, generation } = parent
  return {
    // Another generation of the parent may ask for the same end.
    id: `child ${run} ${seq}${generation ? ` g${generation}` : ''}`,
    kind: 'child',
    run,
    op,
    ...(generation !== undefined && { generation }),
    status,
    ...(status === 'completed' && { result }),
    ...(status === 'failed' && error && { error }),
  }
}

/** Children that outlive this generation of their parent end as they asked for. Its tasks are withdrawn. */
export function outgoingToStarted(run: Ending, what: string, events: readonly JournalEvent[]): Outgoing[] {
  const open = childrenStillOpen(events).filter((child) => !child.isNotified || child.onParentEnd === 'terminate')
  return [...open.map((child) => endChild(child, `its parent run '${run.id}' ${what}`)), ...withdrawals(run, events)]
}

/** Messages to children when their parent is cancelled, and withdrawals of its tasks. */
export function outgoingAtCancel(run: Ending, nth: number, events: readonly JournalEvent[]): Outgoing[] {
  const toChildren = childrenStillOpen(events).map((child) =>
    endChild(
      { ...child, onParentEnd: child.onParentEnd === 'terminate' ? 'terminate' : 'cancel' },
      `its parent run '${run.id}' was cancelled`,
      `parent cancelled ${nth}`,
    ),
  )
  return [...toChildren, ...withdrawals(run, events)]
}

/** Children and tasks that a race went on without. */
export function outgoingToWithdrawn(
  run: Ending,
  decided: EventOf<'decided'>,
  events: readonly JournalEvent[],
): Outgoing[] {
  const isWithdrawn = new Set(decided.withdrawn)
  const before = events.slice(0, events.indexOf(decided))
  const children = childrenStillOpen(before).filter(({ op }) => isWithdrawn.has(op))
  const reason = `its parent run '${run.id}' went on without it ('${decided.id}' is decided)`
  return [
    ...children.map((child) => endChild(child, reason, 'withdrawn')),
    ...withdrawals(run, before, (op) => isWithdrawn.has(op)),
  ]
}

function withdrawals(
  run: Ending,
  events: readonly JournalEvent[],
  isMeant: (op: string) => boolean = () => true,
): Outgoing[] {
  const open = new Set<string>()
  let round = 0
  for (const event of events) {
    if (event.type === 'task.dispatched') open.add(event.id)
    else if (event.type === 'task.completed') open.delete(event.id)
    else if (event.type === 'decided') for (const op of event.withdrawn ?? []) open.delete(op)
    else if (event.type === 'run.retried') round++
  }
  // A failed one may have been handed out again since. Taking back what is settled does nothing.
  return [...open].filter(isMeant).map((op) => ({
    kind: 'withdraw',
    task: { id: taskId(run, op), life: run.createdAt, generation: run.generation, round },
  }))
}

/** `isNotified`: it was asked to stop when its parent was, and must be left to its clean-up. */
type OpenChild = Pick<EventOf<'child.started'>, 'run' | 'onParentEnd'> & { op: string; isNotified: boolean }

function childrenStillOpen(events: readonly JournalEvent[]): OpenChild[] {
  const open = new Map<string, OpenChild>()
  const started = new Map<string, OpenChild>()
  for (const event of events) {
    if (event.type === 'child.started') {
      const child = { op: event.id, run: event.run, onParentEnd: event.onParentEnd, isNotified: false }
      open.set(event.id, child)
      started.set(event.id, child)
    } else if (event.type === 'run.cancelRequested') for (const child of open.values()) child.isNotified = true
    else if (event.type === 'child.completed' || event.type === 'child.failed') open.delete(event.id)
    // These were notified when the race was decided.
    else if (event.type === 'decided') for (const op of event.withdrawn ?? []) open.delete(op)
    // A child that failed and was retried is under way again.
    else if (event.type === 'run.retried')
      for (const op of event.ops ?? []) if (started.has(op)) open.set(op, started.get(op)!)
  }
  return [...open.values()].filter((child) => child.onParentEnd !== 'abandon')
}

function endChild(child: { run: string; onParentEnd: OnParentEnd }, reason: string, id = 'parent ended'): Outgoing {
  if (child.onParentEnd === 'terminate') return { kind: 'terminate', run: child.run, reason }
  return { kind: 'deliver', to: child.run, message: { id, kind: 'cancel', reason } }
}

function isCancellation(error: unknown): boolean {
  // Causes may go in a circle, and this must come to an end.
  const seen = new Set<unknown>()
  for (let e = error; e instanceof Error && !seen.has(e); e = e.cause) {
    if (e instanceof CancelledError) return true
    seen.add(e)
  }
  return false
}
