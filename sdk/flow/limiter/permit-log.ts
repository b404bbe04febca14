import type { EventOf, Frame, JournalEvent } from '../../base/events.ts'
import { idempotencyKey } from '../../base/names.ts'
import type { RunRecord } from '../../ports/run.ts'
import { type LimiterId, limiterOf } from './limiter.ts'
import { holderOf } from './queue.ts'

/**
 * What a run's journal says of the permits of its steps and tasks. A request is journaled before it is made, so the
 * process that ends, recovers or checks the run knows everything that it may hold.
 */
export interface LoggedPermit {
  op: string
  limiter: LimiterId
  holder: string
  order: number
}

type Requesting = EventOf<'step.queued' | 'task.queued' | 'step.admitted' | 'task.admitted'>
type OfRun = Pick<RunRecord, 'id' | 'format' | 'generation'>

/**
 * Journals of earlier versions mention a permit first when it is granted. In newer ones a grant says nothing new of
 * it.
 */
function isRequest(event: JournalEvent, open: ReadonlyMap<string, unknown>): event is Requesting {
  if (event.type === 'step.queued' || event.type === 'task.queued') return true
  return (event.type === 'step.admitted' || event.type === 'task.admitted') && !open.has(event.id)
}

/** Permits that may be held, or in the queue, behind these events of one generation. */
export function openPermits(run: OfRun, events: readonly JournalEvent[]): LoggedPermit[] {
  const open = new Map<string, LoggedPermit>()
  for (const event of events) {
    if (isRequest(event, open)) open.set(event.id, permitOf(run, event))
    else for (const op of releasedBy(event, open)) open.delete(op)
  }
  return [...open.values()]
}

/**
 * Permits that frames of later epochs than `lastGoodEpoch` have released: the runner that wrote them may have died
 * before it released them.
 */
export function releasedSince(run: OfRun, frames: readonly Frame[], lastGoodEpoch: number): LoggedPermit[] {
  const open = new Map<string, LoggedPermit>()
  const released: LoggedPermit[] = []
  for (const { epoch, events } of frames) {
    for (const event of events) {
      if (isRequest(event, open)) {
        const before = open.get(event.id)
        // The same step requests again: its earlier permit was released.
        if (before && epoch > lastGoodEpoch) released.push(before)
        open.set(event.id, permitOf(run, event))
        continue
      }
      for (const op of releasedBy(event, open)) {
        if (open.has(op) && epoch > lastGoodEpoch) released.push(open.get(op)!)
        open.delete(op)
      }
    }
  }
  return released
}

function permitOf(run: OfRun, event: Requesting): LoggedPermit {
  const nth = 'nth' in event ? event.nth : undefined
  const holder = holderOf(run, idempotencyKey(run, event.id), nth)
  return { op: event.id, limiter: limiterOf(event), holder, order: event.order }
}

/** The operations whose permits an event releases. */
function releasedBy(event: JournalEvent, open: ReadonlyMap<string, unknown>): Iterable<string> {
  switch (event.type) {
    case 'step.completed':
    case 'step.failed':
    case 'step.retrying':
    case 'step.paused':
    case 'task.completed':
    case 'task.failed':
      return [event.id]
    case 'decided':
      return event.withdrawn ?? []
    // The end before it has released all of them.
    case 'run.retried':
      return [...open.keys()]
    default:
      return []
  }
}
