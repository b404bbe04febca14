import { InvalidInputError } from '../base/errors.ts'
import { EVENT_ROLE, type EventOf, type Frame, isTerminal, type JournalEvent } from '../base/events.ts'
import type { RunRecord } from '../ports/run.ts'
import { asWritten, meantId } from '../views/as-written.ts'
import { type UndoneWork, undoneBefore } from '../views/undone-work.ts'
import { findUndone } from './undone.ts'

export interface Inheritance {
  journal: Frame
  /** What it would take over although the run has undone it. */
  undone?: UndoneWork
}

/** What a rerun begins with: the journal up to a step, or from the beginning nothing but where it comes from. */
export function inheritanceOf(
  run: RunRecord,
  frames: readonly Frame[],
  now: number,
  { from, by }: { from?: string; by?: string },
): Inheritance {
  const origin: EventOf<'run.rerun'> = {
    type: 'run.rerun',
    of: run.id,
    generation: run.generation,
    ...(by !== undefined && { by }),
  }
  const frame = (...events: JournalEvent[]): Frame => ({ seq: 1, at: now, epoch: 0, events })
  if (from === undefined) return { journal: frame(origin) }
  const events = withoutUndone(frames.filter((each) => each.seq > run.baseSeq))
  const step = stepMeant(from, run, events)
  const kept = eventsUpTo(step, events)
  const [first] = kept
  // Results it takes over were made with the numbers that the first of these runs drew.
  const drawsAs = first?.type === 'run.rerun' && first.from !== undefined ? first : { ...origin, from: step }
  const journal = frame(
    { ...drawsAs, ...(by !== undefined && { by }) },
    ...kept.filter(({ type }) => type !== 'run.rerun'),
  )
  const undone = undoneBefore(step, events)
  return { journal, ...(undone && { undone }) }
}

function stepMeant(from: string, run: RunRecord, events: readonly JournalEvent[]): string {
  const ids = new Set(events.flatMap((event) => ('id' in event && event.type !== 'patch' ? [event.id] : [])))
  const step = meantId(from, ids)
  if (ids.has(step)) return step
  const known = [
    ...new Set(
      events.flatMap((event) => ('id' in event && /^(step|task)\./.test(event.type) ? [asWritten(event.id)] : [])),
    ),
  ]
  throw new InvalidInputError(
    `run '${run.id}' has no step '${from}' in its history; it has: ${known.join(', ') || 'none'}`,
  )
}

/**
 * The events up to the first word about `step`. Waits that had not ended by then are left out: their timers, tokens and
 * children belong to the old run, and the new one opens its own.
 */
function eventsUpTo(step: string, events: readonly JournalEvent[]): JournalEvent[] {
  const until = events.findIndex((event) => 'id' in event && event.id === step && event.type !== 'patch')
  const before = events.slice(0, until)
  const settled = new Set(
    before.filter((event) => EVENT_ROLE[event.type] === 'settles').map((event) => (event as { id: string }).id),
  )
  return before.filter((event: JournalEvent) => {
    if (isTerminal(event) || event.type === 'run.retried' || event.type === 'run.cancelRequested') return false
    return EVENT_ROLE[event.type] !== 'fact' || event.type === 'patch' || settled.has((event as { id: string }).id)
  })
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
