import type { EventOf, FactEvent, OpKind } from '../base/events.ts'
import type { Json } from '../base/json.ts'

/** What the journal knows of an operation that has not settled. */
export interface Facts {
  kind: OpKind
  /** How the wait was opened: its deadline, its child, its signal. */
  opened?:
    | EventOf<'sleep.started' | 'wait.started' | 'callback.created' | 'child.started' | 'task.dispatched'>
    | undefined
  /** When it was opened. */
  openedAt?: number
  /** By which claim. */
  openedBy?: number
  /** The permit that it has asked for and not released, and how many it has asked for so far. */
  permit?: Pick<EventOf<'step.queued'>, 'limit' | 'key' | 'order'> | undefined
  permits?: number
  /** Of a task: it was handed out with that permit. */
  isHandedOut?: boolean
  /** Failed attempts of a step so far. */
  failures: number
  /** When a step is to be tried or entered again. */
  until?: number
  paused?: boolean
  checkpoint?: Json
  /** Of what a step was last tried with. */
  inputDigest?: string
  /** Of an `until` whose first round was in vain; `until` when it is over anyway. */
  repeating?: { until?: number }
  /** An at-most-once attempt that began and never reported back. */
  underWay?: number
  /** A child that was ended because its parent failed, and is wanted again. */
  isLost?: boolean
}

export function applyFact(facts: Facts, event: FactEvent): Facts {
  if ('inputDigest' in event) facts.inputDigest = event.inputDigest
  switch (event.type) {
    case 'sleep.started':
    case 'wait.started':
    case 'callback.created':
    case 'child.started':
    case 'task.dispatched':
      facts.opened = event
      if (event.type === 'task.dispatched') facts.isHandedOut = true
      if (facts.isLost) delete facts.isLost
      break
    case 'step.queued':
    case 'task.queued':
      facts.permit = event
      facts.permits = event.nth
      if (facts.isHandedOut) facts.isHandedOut = false
      break
    // In journals of earlier versions nothing was journaled before.
    case 'step.admitted':
    case 'task.admitted':
      facts.permit ??= event
      if (event.type === 'task.admitted') facts.isHandedOut = true
      break
    case 'step.started':
      facts.underWay = event.attempt
      break
    case 'step.retrying':
      facts.failures = event.attempt
      facts.until = event.until
      facts.paused = false
      delete facts.underWay
      if (facts.permit) facts.permit = undefined
      break
    case 'step.paused':
      facts.until = event.until
      facts.paused = true
      facts.checkpoint = event.data
      delete facts.underWay
      if (facts.permit) facts.permit = undefined
      break
    case 'step.checkpoint':
      facts.checkpoint = event.data
      break
    case 'step.repeating':
      facts.repeating = event
      break
    default:
      event satisfies never
  }
  return facts
}
