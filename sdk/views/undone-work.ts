import { EVENT_ROLE, type JournalEvent } from '../base/events.ts'
import { asWritten } from './as-written.ts'

/** The scope that compensations run in. */
export const COMPENSATIONS = 'compensate'

/** Results that a rerun from a step would take over although the run has undone them. */
export interface UndoneWork {
  /** The compensations that ran. */
  by: string[]
  /** The operations before the step, whose results the rerun would take over. */
  inherited: string[]
}

/** Undefined if the run has undone nothing, or no work comes before the step. */
export function undoneBefore(step: string, events: readonly JournalEvent[]): UndoneWork | undefined {
  const by = new Set<string>()
  for (const event of events)
    if ('id' in event && event.id.startsWith(`${COMPENSATIONS}/`))
      by.add(asWritten(event.id.slice(COMPENSATIONS.length + 1)))
  const failed = events.findLast((event) => event.type === 'run.failed')
  // A failed run says whether it has compensated; for a cancelled one only the names of its steps show it.
  if (by.size === 0 || (failed && !failed.compensated)) return undefined
  const until = events.findIndex((event) => 'id' in event && event.id === step)
  const before = events.slice(0, until).filter((event) => EVENT_ROLE[event.type] === 'settles' && isWork(event))
  const inherited = [...new Set(before.map((event) => asWritten((event as { id: string }).id)))]
  return inherited.length === 0 ? undefined : { by: [...by], inherited }
}

/** A sleep or a signal that has passed leaves nothing to undo. */
const isWork = ({ type }: JournalEvent): boolean => /^(?:step|task|child|callback)\./.test(type)
