import { EVENT_ROLE, type EventOf, type Frame, isTerminal, type JournalEvent, OP_KIND, type OpKind, type TerminalEvent } from './events.ts'
import type { Json } from './json.ts'

/** What the journal knows of an operation that has not settled. */
export interface Facts {
  kind: OpKind
  /** How the wait was opened: its deadline, its child, its signal. */
  opened?: EventOf<'sleep.started' | 'wait.started' | 'callback.created' | 'child.started' | 'task.dispatched'>
  /** When it was opened. */
  openedAt?: number
  /** Failed attempts of a step so far. */
  failures: number
  /** When a step is to be tried or entered again. */
  until?: number
  paused?: boolean
  checkpoint?: Json
  /** An at-most-once attempt that began and never reported back. */
  underWay?: number
}

/** What is handed to workflow code, in this order. */
export type Delivery = EventOf<
  | 'step.completed'
  | 'step.failed'
  | 'sleep.completed'
  | 'wait.completed'
  | 'wait.timedOut'
  | 'callback.completed'
  | 'callback.failed'
  | 'child.completed'
  | 'child.failed'
  | 'task.completed'
  | 'task.failed'
  | 'run.cancelRequested'
  | 'run.timedOut'
>

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
  readonly patches = new Set<string>()
  /** Messages whose content is in the journal. */
  readonly consumed = new Set<string>()
  /** Changes of parameters that were already reported. */
  readonly reported = new Set<string>()
  readonly forgotten: Forgotten[] = []
  /** How often an operator has let the run go on. */
  retries = 0
  terminal: TerminalEvent | undefined
  /** When the generation began. */
  readonly begunAt: number
  lastSeq: number
  lastAt: number
  isEmpty = true

  constructor(frames: readonly Frame[], baseSeq: number, begunAt: number) {
    this.lastSeq = baseSeq
    this.begunAt = begunAt
    this.lastAt = begunAt
    const last = frames.at(-1)
    if (last) {
      this.lastSeq = last.seq
      this.lastAt = last.at + (last.events.at(-1)?.dt ?? 0)
    }
    if (frames.some((frame) => frame.events[0]?.type === 'run.retried')) this.addExceptUndone(frames, findUndone(frames))
    else for (const frame of frames) for (const event of frame.events) this.add(event, event.dt === undefined ? frame.at : frame.at + event.dt)
  }

  add(event: JournalEvent, at: number): void {
    const role = EVENT_ROLE[event.type]
    if (role === 'settles') {
      this.isEmpty = false
      this.deliveries.push(event as Delivery)
      this.times.push(at)
      if (event.type === 'wait.completed') this.consumed.add(event.from)
      else if (event.type === 'sleep.completed' && event.skippedBy !== undefined) this.consumed.add(event.skippedBy)
      return
    }
    if (role === 'fact') {
      this.isEmpty = false
      if (event.type === 'patch') this.patches.add(event.id)
      else this.addFact(event as FactEvent, at)
      return
    }
    this.addRunEvent(event, at)
  }

  private addRunEvent(event: JournalEvent, at: number): void {
    switch (event.type) {
      case 'run.cancelRequested':
        this.consumed.add(event.from)
        this.deliveries.push(event)
        this.times.push(at)
        break
      case 'run.timedOut':
        this.deliveries.push(event)
        this.times.push(at)
        break
      case 'signal.rejected':
        this.consumed.add(event.from)
        break
      case 'changed':
        this.reported.add(changeKey(event))
        break
      default:
        if (isTerminal(event)) this.terminal = event
    }
  }

  private addFact(event: FactEvent, at: number): void {
    const known = this.facts.get(event.id)
    if (known) applyFact(known, event)
    else this.facts.set(event.id, applyFact({ kind: OP_KIND[event.type], openedAt: at, failures: 0 }, event))
  }

  /** The events between an undone failure and the request to go on are kept aside until replay gets there. */
  private addExceptUndone(frames: readonly Frame[], undone: { from: number; to: number }[]): void {
    let position = 0
    let open: Forgotten | undefined
    for (const frame of frames) {
      for (const event of frame.events) {
        const at = frame.at + (event.dt ?? 0)
        const range = undone.find((r) => position >= r.from && position <= r.to)
        if (range && position === range.from) this.forgotten.push((open = { at: this.deliveries.length, events: [] }))
        else if (range && open && event.type !== 'patch') open.events.push({ event, at })
        else this.add(event, at)
        position++
      }
    }
    this.terminal = undefined
    this.retries = undone.length
    const lastEvent = frames.at(-1)?.events.at(-1)
    if (lastEvent && isTerminal(lastEvent)) this.terminal = lastEvent
  }
}

export type FactEvent = EventOf<
  | 'step.started'
  | 'step.retrying'
  | 'step.checkpoint'
  | 'step.paused'
  | 'sleep.started'
  | 'wait.started'
  | 'callback.created'
  | 'child.started'
  | 'task.dispatched'
>

export function applyFact(facts: Facts, event: FactEvent): Facts {
  switch (event.type) {
    case 'step.started':
      facts.underWay = event.attempt
      break
    case 'step.retrying':
      facts.failures = event.attempt
      facts.until = event.until
      facts.paused = false
      delete facts.underWay
      break
    case 'step.paused':
      facts.until = event.until
      facts.paused = true
      facts.checkpoint = event.data
      delete facts.underWay
      break
    case 'step.checkpoint':
      facts.checkpoint = event.data
      break
    default:
      facts.opened = event
  }
  return facts
}

export function changeKey(event: { id: string; field: string; now: Json }): string {
  return `${event.id}\n${event.field}\n${JSON.stringify(event.now)}`
}

/** Each request to go on (always a frame of its own) undoes the last failure of the step it names and what followed from it. */
function findUndone(frames: readonly Frame[]): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = []
  const failedAt = new Map<string, number>()
  let endedAt = 0
  let position = 0
  for (const frame of frames) {
    for (const event of frame.events) {
      if (event.type === 'step.failed' || event.type === 'task.failed') failedAt.set(event.id, position)
      else if (isTerminal(event)) endedAt = position
      else if (event.type === 'run.retried') {
        const from = event.step === undefined ? endedAt : (failedAt.get(event.step) ?? endedAt)
        found.push({ from, to: position })
      }
      position++
    }
  }
  return found
}
