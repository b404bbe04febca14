import { type OpKind, opKindOf } from '../base/events.ts'
import type { HistoryEvent } from '../client/history.ts'
import { fold } from './fold.ts'

/** What happened in a run, as rows and bars over time. Times are epoch milliseconds. */
export interface Timeline {
  from: number
  /** When it ended; absent while it is open. */
  to?: number
  /** In the order in which they began. Repeats of one operation, and the items of a map, are one row. */
  rows: Row[]
  /** What concerns the run as a whole. */
  marks: Mark[]
  visits: Visit[]
  /** How long runners had claimed it, as far as the history tells. */
  awakeMs: number
}

export type Outcome = 'open' | 'done' | 'failed' | 'timed out' | 'taken back'

export interface Row {
  /** The operation's id; for a folded row, the common part of its members' ids. */
  id: string
  kind: OpKind
  outcome: Outcome
  from: number
  to?: number
  bars: Bar[]
  marks: Mark[]
  /** The child's run, the signal's name or the task's type. */
  on?: string
  /** The error of its last failure. */
  error?: { name: string; message: string }
  /** The history events at which it began and at which it is now. */
  first: string
  last: string
  /** Only of a folded row. */
  folded?: Folded
}

export interface Folded {
  members: Row[]
  failures: number
  open: number
  /** The median duration of completed members. */
  medianMs?: number
}

/** `attempt`: code ran. `wait`: the run waited. `backoff` and `pause`: the pause between two attempts. */
export interface Bar {
  kind: 'attempt' | 'wait' | 'backoff' | 'pause'
  from: number
  to?: number
  outcome: Outcome
  attempt?: number
  /** Of a bar for several members: how many of them failed. */
  share?: { failed: number; of: number }
  /** The event that records it. */
  n: string
}

export interface Mark {
  at: number
  n: string
  type: HistoryEvent['type']
}

/** One visit of a runner. */
export interface Visit {
  visit: number
  from: number
  to: number
}

type OperationEvent = Extract<HistoryEvent, { type: `${OpKind}.${string}` }>

export function timeline(events: readonly HistoryEvent[]): Timeline {
  const rows = new Map<string, Row>()
  const maps = new Set<string>()
  const marks: Mark[] = []
  for (const event of events) {
    // A map is named as the scope that it is: `orders/`.
    if (event.type === 'map') maps.add(event.id.replace(/\/$/, ''))
    if (event.type === 'decided') for (const id of event.withdrawn ?? []) takeBack(rows.get(id), event)
    if (event.type === 'run.retried') for (const id of event.ops ?? []) reopen(rows.get(id))
    if (isOperation(event)) tell(rowOf(rows, event), event)
    else if ('id' in event && rows.has(event.id)) rows.get(event.id)!.marks.push(markOf(event))
    else if (event.type !== 'run.started') marks.push(markOf(event))
  }
  const from = events[0]?.at ?? 0
  const last = events.at(-1)
  const isOver = last !== undefined && ENDS.test(last.type)
  if (isOver) for (const row of rows.values()) if (row.outcome === 'open') takeBack(row, last)
  const visits = visitsOf(events)
  const ordered = [...rows.values()].sort((a, b) => a.from - b.from)
  return {
    from,
    ...(isOver && { to: last.at }),
    rows: fold(ordered, maps),
    marks,
    visits,
    awakeMs: visits.reduce((sum, visit) => sum + visit.to - visit.from, 0),
  }
}

const OPERATION = /^(?:step|sleep|wait|callback|child|task)\./
const ENDS = /^run\.(?:completed|failed|cancelled|terminated)$/
const isOperation = (event: HistoryEvent): event is OperationEvent => OPERATION.test(event.type)
const markOf = ({ at, n, type }: HistoryEvent): Mark => ({ at, n, type })

function rowOf(rows: Map<string, Row>, event: OperationEvent): Row {
  const known = rows.get(event.id)
  if (known) return known
  const { id, n } = event
  const on =
    event.type === 'wait.started'
      ? event.signal
      : event.type === 'child.started'
        ? event.run
        : event.type === 'task.dispatched'
          ? event.task
          : undefined
  const row: Row = {
    ...{
      id,
      kind: opKindOf(event.type),
      outcome: 'open',
      from: begunAt(event),
      bars: [],
      marks: [],
      first: n,
      last: n,
    },
    ...(on !== undefined && { on }),
  }
  rows.set(id, row)
  return row
}

/** An attempt is recorded when it ends, with its duration. */
const begunAt = (event: OperationEvent): number =>
  event.type.startsWith('step.') && 'ms' in event ? event.at - (event.ms ?? 0) : event.at

function tell(row: Row, event: OperationEvent): void {
  row.last = event.n
  switch (event.type) {
    case 'step.started':
      return open(row, 'attempt', event, event.attempt)
    case 'step.completed':
      attempted(row, event, event.attempt ?? 1, event.timedOut ? 'timed out' : 'done')
      return settle(row, event, event.timedOut ? 'timed out' : 'done')
    case 'step.retrying':
      attempted(row, event, event.attempt, 'failed')
      row.error = event.error
      return open(row, 'backoff', event)
    case 'step.paused':
      attempted(row, event, undefined, 'done')
      return open(row, 'pause', event)
    case 'step.failed':
      attempted(row, event, event.attempt, 'failed')
      row.error = event.error
      return settle(row, event, 'failed')
    case 'callback.rejected':
    case 'step.checkpoint':
      row.marks.push(markOf(event))
      return
    case 'callback.failed':
    case 'child.failed':
    case 'task.failed':
      row.error = event.error
      return settle(row, event, 'failed')
    case 'wait.timedOut':
      return settle(row, event, 'timed out')
    case 'sleep.started':
    case 'wait.started':
    case 'callback.created':
    case 'child.started':
    case 'task.dispatched':
    case 'step.repeating':
      return open(row, 'wait', event)
    default:
      return settle(row, event, 'done')
  }
}

function open(row: Row, kind: Bar['kind'], { at, n }: OperationEvent, attempt?: number): void {
  close(row, at, 'done')
  row.outcome = 'open'
  delete row.to
  row.bars.push({ kind, from: at, outcome: 'open', n, ...(attempt !== undefined && { attempt }) })
}

/** Closes an attempt. Whatever came before it, such as a backoff, ended where it began. */
function attempted(row: Row, event: OperationEvent, attempt: number | undefined, outcome: Outcome): void {
  const last = row.bars.at(-1)
  const isOnRecord = last?.kind === 'attempt' && last.to === undefined
  const from = isOnRecord ? last.from : Math.max(begunAt(event), last?.to ?? last?.from ?? 0)
  if (isOnRecord) row.bars.pop()
  else close(row, from, 'done')
  row.bars.push({ kind: 'attempt', from, to: event.at, outcome, n: event.n, ...(attempt !== undefined && { attempt }) })
}

function close(row: Row, at: number, outcome: Outcome): void {
  const last = row.bars.at(-1)
  if (last && last.to === undefined) Object.assign(last, { to: at, outcome })
}

function settle(row: Row, { at }: HistoryEvent, outcome: Outcome): void {
  close(row, at, outcome)
  row.outcome = outcome
  row.to = at
}

/** Withdrawn: the run no longer waits for it. */
function takeBack(row: Row | undefined, event: HistoryEvent): void {
  if (row?.outcome === 'open') settle(row, event, 'taken back')
}

/** An operator has retried the run: the failed operation is tried again. */
function reopen(row: Row | undefined): void {
  if (!row) return
  row.outcome = 'open'
  delete row.to
}

function visitsOf(events: readonly HistoryEvent[]): Visit[] {
  const visits: Visit[] = []
  for (const event of events) {
    if (event.visit === undefined) continue
    const last = visits.at(-1)
    const begun = Math.max(isOperation(event) ? begunAt(event) : event.at, last?.to ?? 0)
    if (last?.visit === event.visit) last.to = Math.max(last.to, event.at)
    else visits.push({ visit: event.visit, from: begun, to: event.at })
  }
  return visits
}
