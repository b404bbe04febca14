import type { EndStatus, Outgoing, RunRecord } from '../ports.ts'
import { validate } from '../schema.ts'
import { taskId } from '../tasks/task.ts'
import type { AnyWorkflow } from '../workflow.ts'
import { CancelledError, InvalidInputError, recordError, StepError } from './errors.ts'
import type { EventOf, JournalEvent, OnParentEnd, TerminalEvent } from './events.ts'
import { assertSurvivesJson, type Json, throughJson } from './json.ts'
import type { CodeEnd } from './replay.ts'

export const END_STATUS: Record<TerminalEvent['type'], EndStatus> = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
  'run.terminated': 'terminated',
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
    assertSurvivesJson(end.value, `the output of workflow '${workflow.name}'`)
    const checked = await validate(workflow.options.output, end.value)
    if (!checked.ok) throw new InvalidInputError(`the output of workflow '${workflow.name}' does not fit its schema`, checked.problems)
    return { type: 'run.completed', output: throughJson(checked.value) as Json | undefined }
  } catch (error) {
    return { type: 'run.failed', error: recordError(error) }
  }
}

/** The error that a whole-run retry policy judges: the one behind a step that gave up. */
export function rootError(thrown: unknown): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  return error instanceof StepError && error.cause instanceof Error ? error.cause : error
}

/**
 * What the end of a run means for others: its parent hears of it, its children are dealt with as they asked for, its
 * tasks are taken back.
 * Worked out from events alone, so that whoever finishes a dead runner's work does the same.
 */
export function outgoingAtEnd(run: RunRecord, terminal: TerminalEvent, events: readonly JournalEvent[]): Outgoing[] {
  const outgoing: Outgoing[] = []
  if (run.parent) {
    const message = {
      id: `child ${run.id}`,
      kind: 'child' as const,
      run: run.id,
      op: run.parent.op,
      status: END_STATUS[terminal.type],
      ...(terminal.type === 'run.completed' && { result: terminal.output }),
      ...(terminal.type === 'run.failed' && { error: terminal.error }),
    }
    outgoing.push({ kind: 'deliver', to: run.parent.runId, message })
  }
  return [...outgoing, ...outgoingToStarted(run, `ended (${END_STATUS[terminal.type]})`, events)]
}

/** Children that outlive this generation of their parent are dealt with as they asked for; nobody waits for its tasks any more. */
export function outgoingToStarted(run: RunRecord, what: string, events: readonly JournalEvent[]): Outgoing[] {
  return [...childrenStillOpen(events).map((child) => endChild(child, `its parent run '${run.id}' ${what}`)), ...withdrawals(run, events)]
}

/** Children that are to be told when their parent is cancelled, and tasks that are not wanted any more. */
export function outgoingAtCancel(run: RunRecord, events: readonly JournalEvent[]): Outgoing[] {
  const toChildren = childrenStillOpen(events).map((child) =>
    endChild({ ...child, onParentEnd: child.onParentEnd === 'terminate' ? 'terminate' : 'cancel' }, `its parent run '${run.id}' was cancelled`),
  )
  return [...toChildren, ...withdrawals(run, events)]
}

function withdrawals(run: RunRecord, events: readonly JournalEvent[]): Outgoing[] {
  const open = new Set<string>()
  let round = 0
  for (const event of events) {
    if (event.type === 'task.dispatched') open.add(event.id)
    else if (event.type === 'task.completed') open.delete(event.id)
    else if (event.type === 'run.retried') round++
  }
  // A failed one may have been handed out again since. Taking back what is settled does nothing.
  return [...open].map((op) => ({ kind: 'withdraw', task: { id: taskId(run.id, op), generation: run.generation, round } }))
}

type OpenChild = Pick<EventOf<'child.started'>, 'run' | 'onParentEnd'>

function childrenStillOpen(events: readonly JournalEvent[]): OpenChild[] {
  const open = new Map<string, EventOf<'child.started'>>()
  for (const event of events) {
    if (event.type === 'child.started') open.set(event.id, event)
    else if (event.type === 'child.completed' || event.type === 'child.failed') open.delete(event.id)
  }
  return [...open.values()].filter((child) => child.onParentEnd !== 'abandon')
}

function endChild(child: { run: string; onParentEnd: OnParentEnd }, reason: string): Outgoing {
  if (child.onParentEnd === 'terminate') return { kind: 'terminate', run: child.run, reason }
  return { kind: 'deliver', to: child.run, message: { id: `parent ended`, kind: 'cancel', reason } }
}

function isCancellation(error: unknown): boolean {
  for (let e = error; e instanceof Error; e = e.cause) if (e instanceof CancelledError) return true
  return false
}
