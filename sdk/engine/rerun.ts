import type { RunRecord } from '../ports.ts'
import { InvalidInputError } from './errors.ts'
import { EVENT_ROLE, type Frame, isTerminal, type JournalEvent } from './events.ts'
import { findUndone } from './undone.ts'

/**
 * The journal up to the first word about `step`, as the first frame of a new run. Waits that had not ended by then
 * are left out: their timers, tokens and children belong to the old run, and the new one opens its own.
 */
export function journalUpTo(step: string, run: RunRecord, frames: readonly Frame[], now: number): Frame {
  const events = withoutUndone(frames.filter((frame) => frame.seq > run.baseSeq))
  const until = events.findIndex((event) => 'id' in event && event.id === step && event.type !== 'patch')
  if (until === -1) {
    const known = [...new Set(events.flatMap((event) => ('id' in event && /^(step|task)\./.test(event.type) ? [event.id] : [])))]
    throw new InvalidInputError(`run '${run.id}' has no step '${step}' in its history; it has: ${known.join(', ') || 'none'}`)
  }
  const before = events.slice(0, until)
  const settled = new Set(before.filter((event) => EVENT_ROLE[event.type] === 'settles').map((event) => (event as { id: string }).id))
  const kept = before.filter((event: JournalEvent) => {
    if (isTerminal(event) || event.type === 'run.retried' || event.type === 'run.cancelRequested') return false
    return EVENT_ROLE[event.type] !== 'fact' || event.type === 'patch' || settled.has((event as { id: string }).id)
  })
  // Results it takes over were made with the numbers that the first of these runs drew.
  const isOfARerun = kept[0]?.type === 'run.rerun'
  const origin: JournalEvent = { type: 'run.rerun', of: run.id, generation: run.generation, from: step }
  return { seq: 1, at: now, epoch: 0, events: isOfARerun ? kept : [origin, ...kept] }
}

/** What an operator has undone does not count, nor what was done again since. */
function withoutUndone(frames: readonly Frame[]): JournalEvent[] {
  const undone = findUndone(frames)
  const events = frames.flatMap((frame) => frame.events)
  if (undone.length === 0) return events
  const lastWordOn = new Map<string, number>()
  for (const [position, event] of events.entries()) if ('id' in event) lastWordOn.set(event.id, position)
  return events.filter((event, position) => {
    const range = undone.find(({ from, to }) => position >= from && position <= to)
    if (!range) return true
    return !undone.some(({ drops }) => drops.has(position)) && 'id' in event && lastWordOn.get(event.id)! <= range.to
  })
}
