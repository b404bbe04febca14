import { recordError } from '../base/error-records.ts'
import { TimeoutError } from '../base/errors.ts'
import type { Delivery, EventOf } from '../base/events.ts'
import { lastBeat } from './callback-heartbeat.ts'
import type { Mailbox } from './mailbox.ts'
import type { Operation, RequestOf } from './operation.ts'
import type { ReportedChanges } from './reported-changes.ts'
import type { Timers } from './timers.ts'
import type { Visit } from './visit.ts'

/** Callbacks that the code waits for, and the heartbeats that they owe. */
export class Callbacks {
  private readonly visit: Visit
  private readonly timers: Timers
  private readonly mailbox: Mailbox
  private readonly changes: ReportedChanges
  /** Callbacks with a heartbeat timeout: how long one may be without a heartbeat, and when it times out anyway. */
  private readonly beats = new Map<Operation, { ms: number; until: number }>()

  constructor(visit: Visit, timers: Timers, mailbox: Mailbox, changes: ReportedChanges) {
    this.visit = visit
    this.timers = timers
    this.mailbox = mailbox
    this.changes = changes
  }

  open(operation: Operation, { ms, beatMs, schema, raw, address }: RequestOf<'callback'>): void {
    const { timers } = this
    const opened = operation.facts?.opened as EventOf<'callback.created'> | undefined
    const now = this.visit.world.clock.now()
    const beatBy = opened ? opened.beatBy : beatMs === undefined ? undefined : now + beatMs
    const kind = raw ? { raw } : schema ? { checked: true as const } : {}
    const beat = beatMs === undefined ? {} : { beatMs, beatBy: beatBy! }
    const place = address === undefined ? {} : { address }
    if (opened) this.changes.report(operation, 'heartbeatTimeout', opened.beatMs, beatMs)
    timers.openWait(operation, { ms }, (timeout) => ({
      type: 'callback.created',
      id: operation.id,
      ...timeout,
      ...kind,
      ...beat,
      ...place,
    }))
    if (beatBy !== undefined) {
      const until = timers.get(operation) ?? Number.POSITIVE_INFINITY
      this.beats.set(operation, { ms: opened?.beatMs ?? beatMs!, until })
      timers.set(operation, Math.min(beatBy, until))
    }
    this.mailbox.look()
  }

  /** The timer of this callback is for its heartbeat, and not its timeout. */
  owesHeartbeat(operation: Operation, now: number): boolean {
    return now < (this.beats.get(operation)?.until ?? now)
  }

  /**
   * Heartbeats are neither journaled nor wake the run: the run reads the last one when one is due. Only a missing
   * heartbeat is journaled. A delivery if there was none; otherwise the timer is set anew.
   */
  async checkHeartbeat(operation: Operation, now: number): Promise<Delivery | undefined> {
    const { world, run } = this.visit
    const { ms, until } = this.beats.get(operation)!
    const beatAt = await lastBeat(world.documents, run, operation.id)
    if (beatAt !== undefined && beatAt + ms > now) {
      this.timers.set(operation, Math.min(beatAt + ms, until))
      return undefined
    }
    this.timers.delete(operation)
    return timedOut(operation.id, `gave no sign of life for ${ms / 1_000} s`)
  }
}

export function timedOut(id: string, how: string): Delivery {
  return { type: 'callback.failed', id, error: recordError(new TimeoutError(`callback '${id}' ${how}`)) }
}
