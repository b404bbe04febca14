import type { EventOf, JournalEvent } from '../base/events.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import type { Message } from '../ports/run.ts'

/** What the journal of a generation says of one of its callbacks. */

export type SettledCallback = Extract<Message, { kind: 'callback' | 'callback.failed' }>
type Settlement = EventOf<'callback.completed' | 'callback.failed'>
export type Created = EventOf<'callback.created'>

/** How the callback was settled, as far as that counts: an operator may have undone it. */
export function settlementOf(events: readonly JournalEvent[], op: string): Settlement | undefined {
  let settled: Settlement | undefined
  for (const event of events) {
    if (isSettlement(event) && event.id === op) settled = event
    // Asked for anew, on another way than the one on which it was settled.
    else if (event.type === 'callback.created' && event.id === op) settled = undefined
    else if (event.type === 'run.retried' && event.ops?.includes(op)) settled = undefined
  }
  return settled
}

/** How it was last opened. */
export function openingOf(events: readonly JournalEvent[], op: string): Created | undefined {
  return events.findLast((event): event is Created => event.type === 'callback.created' && event.id === op)
}

/** When it can no longer be settled; undefined also while an operator's request to open it anew is under way. */
export function deadlineOf(events: readonly JournalEvent[], op: string): number | undefined {
  const last = events.findLast(
    (event) =>
      (event.type === 'callback.created' && event.id === op) ||
      (event.type === 'run.retried' && event.ops?.includes(op)),
  )
  return last?.type === 'callback.created' ? last.until : undefined
}

/** How many answers were set aside, or undone by an operator: they do not stand in the way of the next. */
export function setAside(events: readonly JournalEvent[], op: string): number {
  return events.filter(
    (event) => (event.type === 'callback.rejected' && event.id === op) || event.type === 'run.retried',
  ).length
}

/** The race that it was part of was decided without it. */
export function isWithdrawn(events: readonly JournalEvent[], op: string): boolean {
  const last = events.findLast(
    (event) =>
      (event.type === 'decided' && event.withdrawn?.includes(op)) ||
      (event.type === 'callback.created' && event.id === op),
  )
  return last?.type === 'decided'
}

/** A wait that was open when the run was asked to stop has ended with that. */
export function isStopped(events: readonly JournalEvent[], op: string): boolean {
  const created = events.findIndex((event) => event.type === 'callback.created' && event.id === op)
  return created !== -1 && events.slice(created).some(({ type }) => type === 'run.cancelRequested')
}

export function wasSettledAlike(events: readonly JournalEvent[], message: SettledCallback): boolean {
  const settled = settlementOf(events, message.op)
  return settled !== undefined && isAlike(settled, message, openingOf(events, message.op))
}

type Said = { result?: Json; error?: { message: string } }

/** Of a raw request the body counts: the headers of one that is sent again tell another time and another way. */
export function isAlike(a: Said, b: Said, created: Created | undefined): boolean {
  const told = (result: Json | undefined) => (created?.raw ? (result as { body?: Json } | undefined)?.body : result)
  const said = ({ result, error }: Said) => canonicalJson({ result: told(result), error: error?.message })
  return said(a) === said(b)
}

const isSettlement = (event: JournalEvent): event is Settlement =>
  event.type === 'callback.completed' || event.type === 'callback.failed'
