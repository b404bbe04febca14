import { LONG_WAIT_MS } from '../base/duration.ts'
import type { EventOf } from '../base/events.ts'
import type { Clock } from '../ports/world.ts'
import type { FrameBuffer } from './frame-buffer.ts'
import type { Operation, RequestOf } from './operation.ts'
import type { ReportedChanges } from './reported-changes.ts'
import type { Visit } from './visit.ts'

/** When a wait ends without its message: `ms` after it began, or at `until`. Neither: never. */
export interface Timeout {
  ms?: number | undefined
  until?: number | undefined
}

/** When operations end or go on by themselves: sleeps, timeouts, and steps and tasks that are tried again later. */
export class Timers {
  private readonly dueAt = new Map<Operation, number>()
  private readonly clock: Clock
  private readonly buffer: FrameBuffer
  private readonly changes: ReportedChanges

  constructor({ world, buffer }: Visit, changes: ReportedChanges) {
    this.clock = world.clock
    this.buffer = buffer
    this.changes = changes
  }

  set(operation: Operation, at: number): void {
    this.dueAt.set(operation, at)
  }

  get(operation: Operation): number | undefined {
    return this.dueAt.get(operation)
  }

  delete(operation: Operation): void {
    this.dueAt.delete(operation)
  }

  /** Every timer, in the order in which they were first set. */
  [Symbol.iterator](): MapIterator<[operation: Operation, dueAt: number]> {
    return this.dueAt.entries()
  }

  /** The earliest of all timers and `earliest`. */
  nextDue(earliest: number | undefined): number | undefined {
    let next = earliest
    for (const [operation, dueAt] of this.dueAt) {
      if (operation.settled) this.dueAt.delete(operation)
      else if (next === undefined || dueAt < next) next = dueAt
    }
    return next
  }

  /** Removes and returns the steps whose time to go on has come. */
  takeDueSteps(now: number): Operation[] {
    const due: Operation[] = []
    for (const [operation, dueAt] of this.dueAt) {
      if (operation.kind !== 'step' || operation.settled || dueAt > now) continue
      this.dueAt.delete(operation)
      due.push(operation)
    }
    return due
  }

  openSleeps(): Operation[] {
    return [...this.dueAt.keys()].filter(({ kind, settled }) => kind === 'sleep' && !settled)
  }

  /** Journals the start of a sleep, unless the journal has it. */
  sleep(operation: Operation, request: RequestOf<'sleep'>): void {
    const opened = operation.facts?.opened as EventOf<'sleep.started'> | undefined
    if (opened) {
      if (request.ms !== undefined) this.changes.report(operation, 'duration', opened.ms, request.ms)
      else if (opened.ms === undefined) this.changes.report(operation, 'until', opened.until, request.until)
      return this.set(operation, opened.until)
    }
    const now = this.clock.now()
    const until = request.until ?? now + request.ms!
    if (until - now > LONG_WAIT_MS)
      this.changes.warn(`sleep '${operation.id}' is longer than 30 days`, { until: new Date(until).toISOString() })
    this.buffer.add({
      type: 'sleep.started',
      id: operation.id,
      until,
      ...(request.ms !== undefined && { ms: request.ms }),
    })
    this.set(operation, until)
  }

  /** Journals a wait with its deadline, unless the journal has it: the journaled deadline stands. */
  openWait(
    operation: Operation,
    { ms, until }: Timeout,
    eventOf: (timeout: { until?: number; ms?: number }) => EventOf<'wait.started' | 'callback.created'>,
  ): void {
    const opened = operation.facts?.opened as EventOf<'wait.started' | 'callback.created'> | undefined
    const deadline = opened ? opened.until : ms === undefined ? until : this.clock.now() + ms
    if (!opened)
      this.buffer.add(eventOf({ ...(deadline !== undefined && { until: deadline }), ...(ms !== undefined && { ms }) }))
    else if (opened.ms !== undefined || ms !== undefined) this.changes.report(operation, 'timeout', opened.ms, ms)
    else this.changes.report(operation, 'until', opened.until, until)
    if (deadline !== undefined) this.set(operation, deadline)
  }
}
