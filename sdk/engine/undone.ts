import type { ErrorRecord, EventOf, Frame, JournalEvent } from '../base/events.ts'
import { isDelivery, isTerminal } from '../base/events.ts'

/** What a request to go on takes back, by position in the journal. */
export interface Undone {
  /** The first failure that no longer counts, and the request itself. */
  from: number
  to: number
  ops: ReadonlySet<string>
  /** Waits among them that have to be opened again: a callback that failed, a child that never was its own. */
  isOpenedAnew: ReadonlySet<string>
  /** The failures themselves, and the end they led to. */
  drops: ReadonlySet<number>
}

type Failure = EventOf<'step.failed' | 'task.failed' | 'child.failed' | 'callback.failed'>
const isFailure = (event: JournalEvent): event is Failure => FAILURES.has(event.type)
const FAILURES: ReadonlySet<string> = new Set<Failure['type']>([
  'step.failed',
  'task.failed',
  'child.failed',
  'callback.failed',
])

/** By hand, because every load of every journal asks. */
function hasRetries(frames: readonly Frame[]): boolean {
  for (let i = 0; i < frames.length; i++) if (frames[i]!.events[0]?.type === 'run.retried') return true
  return false
}

/**
 * Each retry by an operator (always a frame of its own) undoes the last failures of the operations that it names,
 * and what followed from them.
 */
export function findUndone(frames: readonly Frame[]): Undone[] {
  if (!hasRetries(frames)) return []
  const found: Undone[] = []
  const failedAt = new Map<string, { position: number; event: Failure }>()
  let endedAt = 0
  let position = 0
  for (const frame of frames) {
    for (const event of frame.events) {
      if (isFailure(event)) failedAt.set(event.id, { position, event })
      else if (isTerminal(event)) endedAt = position
      else if (event.type === 'run.retried') {
        const ops = event.ops ?? (event.step === undefined ? [] : [event.step])
        const failures = ops.flatMap((op) => failedAt.get(op) ?? [])
        const positions = failures.map((failure) => failure.position)
        const isOpenedAnew = new Set(
          failures.flatMap((failure) => (needsOpening(failure.event) ? failure.event.id : [])),
        )
        found.push({
          from: Math.min(endedAt, ...positions),
          to: position,
          ops: new Set(ops),
          isOpenedAnew,
          drops: new Set([...positions, endedAt, position]),
        })
      }
      position++
    }
  }
  return found
}

/** The child was another caller's run, or was never started: there is none to retry. */
const isNoChildOfOurs = ({ error }: Failure): boolean =>
  error.cause?.name === 'ConflictError' || error.cause?.name === 'InvalidInputError'
const needsOpening = (event: Failure): boolean =>
  event.type === 'callback.failed' || (event.type === 'child.failed' && isNoChildOfOurs(event))

/** Why a run cannot go on: of this run (`refusal`), and of all that it holds for, behind their number (`why`). */
export interface Refusal {
  refusal: string
  why: string
}

export type RetryPlan = { ops: string[]; children: string[] } | Refusal

/**
 * What it takes for a failed run to go on: the operations whose failures are undone, and the failed children that have
 * to go on first. Worked out from the journal of its generation alone.
 */
export function retryPlan(runId: string, events: readonly JournalEvent[]): RetryPlan {
  const failed = events.at(-1)
  if (failed?.type !== 'run.failed') {
    return {
      refusal: `run '${runId}' has not failed by the last word of its history; look at it again`,
      why: 'have moved on; look at them again',
    }
  }
  if (failed.compensated) {
    return {
      refusal:
        `run '${runId}' has undone its steps (ctx.compensate), so it cannot go on from the one that ` +
        'failed; rerun it from the beginning',
      why: 'have undone their steps (ctx.compensate) and cannot go on: rerun them',
    }
  }
  if (events.some(({ type }) => type === 'run.timedOut')) {
    return {
      refusal:
        `run '${runId}' took longer than the timeout of its workflow, and going on would not give ` +
        'it more time; rerun it',
      why: 'took longer than the timeout of their workflow, and going on gives them no more time: rerun them',
    }
  }
  const lastFailure = new Map<string, Failure>()
  const childOf = new Map<string, string>()
  for (const event of events) {
    if (isFailure(event)) {
      // Anew, so that the last one is the last of the map.
      lastFailure.delete(event.id)
      lastFailure.set(event.id, event)
    } else if (event.type === 'child.started') childOf.set(event.id, event.run)
    // A word that came before is no longer the last one on these.
    else if (event.type === 'run.retried') for (const op of event.ops ?? []) lastFailure.delete(op)
  }
  const named = failed.because ?? namedBy(failed.error)
  const known = named.filter((op) => lastFailure.has(op))
  // An error that does not say where it comes from, thrown in the very turn that delivered a failure, comes from that
  // failure. After any other turn the code had dealt with the failure: only the end is undone, for code that has been
  // fixed.
  const lastHeard = events.findLast((event) => isDelivery(event))
  const wasTheLast = lastHeard && isFailure(lastHeard) && lastFailure.has(lastHeard.id)
  const ops = known.length > 0 ? known : wasTheLast ? [lastHeard.id] : []
  const children = ops.flatMap((op) => {
    const failure = lastFailure.get(op)
    return failure?.type === 'child.failed' && !isNoChildOfOurs(failure) ? (childOf.get(op) ?? []) : []
  })
  return { ops, children }
}

/** Errors of format 1 name the step that failed. Causes below a child's error are the child's. */
function namedBy(error: ErrorRecord | undefined): string[] {
  for (let e = error; e && e.runId === undefined; e = e.cause) if (e.step !== undefined) return [e.step]
  return []
}
