import {
  type Delivery,
  EVENT_ROLE,
  type EventOf,
  type FactEvent,
  type Frame,
  isDelivery,
  isRemark,
  isTerminal,
  type JournalEvent,
  opKindOf,
  type Remark,
  type TerminalEvent,
} from '../base/events.ts'
import type { Json } from '../base/json.ts'
import { applyFact, type Facts } from './facts.ts'
import { findUndone, type Undone } from './undone.ts'

/** A failure that an operator undid, and what came after it until then; see `Replay.nextRecalled`. */
export interface Forgotten {
  /** Position among the deliveries. */
  at: number
  events: { event: JournalEvent; at: number }[]
}

/** When a generation begins: as the frame that ended the one before it says. */
export function beginOf(heading: Frame): number {
  const last = heading.events.at(-1)
  return last?.type === 'run.retrying' ? last.until : heading.at + (last?.dt ?? 0)
}

/** The journal of one generation of a run, arranged for replay. */
export class Journal {
  readonly facts = new Map<string, Facts>()
  readonly deliveries: Delivery[] = []
  /** The time of each delivery. */
  readonly times: number[] = []
  /** Behind which delivery a patch was first found to be in force. */
  readonly patches = new Map<string, number>()
  readonly maps = new Map<string, EventOf<'map'>>()
  /** Races that are decided, and by which claim that was written. */
  readonly decided = new Map<string, { event: EventOf<'decided'>; by: number }>()
  /** What was said to requests, by the message that asked, and which claim said it. */
  readonly replied = new Map<string, { event: EventOf<'request.replied' | 'request.refused'>; by: number }>()
  /** Detached children whose start was delivered to the code. Format 1 delivered none. */
  readonly accepted = new Set<string>()
  /** Messages whose content is in the journal. */
  readonly consumed = new Set<string>()
  /** Changes of parameters that were already reported. */
  readonly reported = new Set<string>()
  readonly forgotten: Forgotten[] = []
  /** The signal that a wait was for, where that may have to be known later. */
  readonly signalOf = new Map<string, string>()
  /** How often an operator has let the run go on. */
  retries = 0
  terminal: TerminalEvent | undefined
  /** The last word in it is an operator's, to go on. */
  isJustRetried = false
  /** Children that were ended with their failed parent, before replay gets to where they were started. */
  readonly lost = new Set<string>()
  /** Children that were started on a way that is forgotten: asked for anew, they are other runs. */
  readonly startedBefore = new Set<string>()
  /** The run that this one repeats. */
  origin: { id: string; generation: number } | undefined
  /** When the generation began. */
  readonly begunAt: number
  lastSeq: number
  lastAt: number
  isEmpty = true
  /** Some step or task has asked for a permit. */
  hasPermits = false

  constructor(frames: readonly Frame[], baseSeq: number, begunAt: number) {
    this.lastSeq = baseSeq
    this.begunAt = begunAt
    this.lastAt = begunAt
    const last = frames.at(-1)
    if (last) {
      this.lastSeq = last.seq
      this.lastAt = last.at + (last.events.at(-1)?.dt ?? 0)
    }
    const undone = findUndone(frames)
    if (undone.length > 0) this.addExceptUndone(frames, undone)
    else
      for (const { epoch, at, events } of frames)
        for (const event of events) this.add(event, event.dt === undefined ? at : at + event.dt, epoch)
    this.isJustRetried = last?.events.at(-1)?.type === 'run.retried'
  }

  /** See `Replay.free`. */
  free(): void {
    this.facts.clear()
    this.deliveries.length = 0
    this.times.length = 0
  }

  private add(event: JournalEvent, at: number, epoch: number): void {
    // By role, looked up once: a journal may have a hundred thousand events.
    switch (EVENT_ROLE[event.type]) {
      case 'settles':
      case 'stops':
        this.isEmpty = false
        this.deliveries.push(event as Delivery)
        this.times.push(at)
        // Most are of steps, and took over nothing.
        if (event.type !== 'step.completed') this.noteConsumed(event as Delivery)
        return
      case 'fact':
        this.isEmpty = false
        return this.addFact(event as FactEvent, at, epoch)
      case 'remark':
        return this.addRemark(event as Remark, epoch)
      case 'run':
        if (isTerminal(event)) this.terminal = event
    }
  }

  /** The message that a delivery took over is not to be had a second time. */
  noteConsumed(event: Delivery): void {
    if (event.type === 'wait.completed' || event.type === 'run.cancelRequested') this.consumed.add(event.from)
    else if (event.type === 'child.detached') this.accepted.add(event.id)
    else if (event.type === 'sleep.completed' && event.skippedBy !== undefined) this.consumed.add(event.skippedBy)
  }

  private addRemark(event: Remark, epoch: number): void {
    switch (event.type) {
      case 'signal.rejected':
      case 'callback.rejected':
        this.consumed.add(event.from)
        break
      case 'patch':
        this.isEmpty = false
        if (!this.patches.has(event.id)) this.patches.set(event.id, this.deliveries.length)
        break
      case 'map':
        this.maps.set(event.id, event)
        break
      case 'decided':
        this.decided.set(event.id, { event, by: epoch })
        break
      case 'request.replied':
      case 'request.refused':
        this.replied.set(event.to, { event, by: epoch })
        break
      case 'run.rerun':
        if (event.from !== undefined) this.origin = { id: event.of, generation: event.generation }
        break
      case 'changed':
        this.reported.add(changeKey(event))
        break
    }
  }

  private addFact(event: FactEvent, at: number, epoch: number): void {
    let facts = this.facts.get(event.id)
    if (facts) applyFact(facts, event).openedBy = epoch
    else {
      // With a place for what nearly all of them get: a journal may have very many.
      facts = applyFact(
        {
          kind: opKindOf(event.type),
          opened: undefined,
          openedAt: at,
          openedBy: epoch,
          failures: 0,
          permit: undefined,
        },
        event,
      )
      this.facts.set(event.id, facts)
    }
    if (facts.permit !== undefined) this.hasPermits = true
  }

  /** The events between an undone failure and the request to go on are kept aside until replay gets there. */
  private addExceptUndone(frames: readonly Frame[], undone: readonly Undone[]): void {
    const ranges = merged(undone)
    const settled = new Set<string>()
    let position = 0
    let open: Forgotten | undefined
    for (const { epoch, at: frameAt, events } of frames) {
      for (const event of events) {
        const at = frameAt + (event.dt ?? 0)
        const range = ranges.find(({ from, to }) => position >= from && position <= to)
        if (position === range?.from) this.forgotten.push((open = { at: this.deliveries.length, events: [] }))
        if (event.type === 'wait.started') this.signalOf.set(event.id, event.signal)
        if (isDelivery(event) && 'id' in event) settled.add(event.id)
        if (!undone.some(({ drops }) => drops.has(position))) {
          if (range && event.type === 'child.started') this.startedBefore.add(event.id)
          if (range && open && !isRemark(event)) open.events.push({ event, at })
          // On another way the race may go to another.
          else if (!range || event.type !== 'decided') this.add(event, at, epoch)
        }
        const request = undone.find(({ to }) => to === position)
        if (request) this.takeUpAgain(request, settled, open)
        position++
      }
    }
    const last = frames.at(-1)?.events.at(-1)
    this.terminal = last && isTerminal(last) ? last : undefined
    this.retries = undone.length
  }

  /** What a request to go on means for operations that had not ended well. */
  private takeUpAgain({ ops, isOpenedAnew }: Undone, settled: Set<string>, forgotten: Forgotten | undefined): void {
    for (const op of ops) {
      settled.delete(op)
      const facts = this.facts.get(op)
      // The interruption was delivered to the code; the next attempt is another. A wait that is over is opened anew.
      if (facts) delete facts.underWay
      if (facts && isOpenedAnew.has(op)) facts.opened = undefined
    }
    // Children that were open when the run failed were ended with it, except those whose own failure is taken up again.
    const isLost = (opened: Facts['opened']) =>
      opened?.type === 'child.started' &&
      !opened.detached &&
      opened.onParentEnd !== 'abandon' &&
      !settled.has(opened.id) &&
      !ops.has(opened.id)
    for (const facts of this.facts.values()) {
      if (isLost(facts.opened)) facts.isLost = true
      // The end has released every permit.
      if (facts.permit) facts.permit = undefined
    }
    for (const { event } of forgotten?.events ?? [])
      if (event.type === 'child.started' && isLost(event)) this.lost.add(event.id)
  }
}

/** Ranges that overlap are one: what happened in between depends on both. */
function merged(undone: readonly Undone[]): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = []
  for (const { from, to } of [...undone].sort((a, b) => a.from - b.from)) {
    const last = ranges.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else ranges.push({ from, to })
  }
  return ranges
}

export function changeKey(event: { id: string; field: string; now: Json }): string {
  return `${event.id}\n${event.field}\n${JSON.stringify(event.now)}`
}
