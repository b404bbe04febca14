import { AsyncLocalStorage } from 'node:async_hooks'
import type { Frame, JournalEvent } from '../../sdk/base/events.ts'
import { digest } from '../../sdk/base/names.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'
import type { Clock, World } from '../../sdk/ports/world.ts'
import type { VirtualClock } from '../../sdk/testing/index.ts'
import type { AnyWorkflow, Registry } from '../../sdk/workflow.ts'
import type { Stored } from './flow/stored.ts'
import type { Mutant } from './mutants.ts'
import type { Trouble } from './trouble.ts'

export const START = Date.parse('2026-01-01T00:00:00Z')
export const LEASE_MS = 10_000

/** A process: a Lambda, say. It has a clock of its own and may die at any call. */
export interface Process {
  readonly id: number
  readonly isAlive: boolean
  readonly clock: Clock
  /** Which of the codes that are deployed one after the other it runs. */
  readonly code: number
  /** Until when it last stood still, or waited for a slow answer. */
  readonly heldUpUntil: number
  /** The epoch of each run that it has claimed; noted only in clouds for flow control. */
  readonly claims: Map<string, number>
  kill(): void
}

/**
 * What programs are played in: a store, wake-ups, a sweeper, and as many processes as messages arrive. Which of their
 * calls fail, and how, follows from the seed alone. Two clouds stand for the two worlds that ship.
 */
export interface Cloud {
  readonly clock: VirtualClock
  readonly ledger: Ledger
  /** What should not have happened, as soon as it is known. */
  readonly failures: string[]
  /** How often something was disturbed so far. */
  readonly blows: number
  /** What is really stored. */
  readonly stored: Stored
  /** The code of the day. */
  readonly workflows: Registry
  /** Called when there may be tasks for workers. */
  onDispatch: (() => void) | undefined

  /** From now on nothing dies, freezes or gets lost. What is frozen thaws when it does. */
  calm(): void
  /** A process without trouble, for the test itself. */
  observer(): World
  /** A process that may fail at any call. */
  client(): { world: World; process: Process }
  /** A process that runs runs and stays, if there is one: code in it hears of what it does itself at once. */
  insider?(): { world: World; process: Process } | undefined
  /** The ids of runs, as they are stored: no index is asked. */
  runIds(which: 'all' | 'open'): string[]
  /** When there is something for workers to look at. */
  nextTask(): number | undefined
  /** What must be true at every moment and is not. */
  complaints(): string[]
  /** Lets everything happen that can happen now, then moves to the next moment. False when there is none. */
  step(): Promise<boolean>
  /** When the next moment is. */
  nextMoment(): number | undefined
}

/** The code that is deployed, one after the other; each a list of workflows. */
export type Deployments = (cloud: Cloud) => AnyWorkflow[][]

export interface CloudOptions {
  seed: string
  trouble: Trouble
  deployments: Deployments
  mutant?: Mutant | undefined
  /** How long the sweeper may rest while nothing happens. */
  laziestSweepMs?: number
  /**
   * For flow control. Local processes stay and have several runs in their hands, as `Local` has: what they know of pauses
   * may be out of date. And processes note what they have claimed.
   */
  processesStay?: boolean
}

export const currentProcess = new AsyncLocalStorage<Process>()

/** A wait in virtual time that dies with its process. */
export function delay(ms: number, process: Process): Promise<void> {
  return new Promise((resolve) => {
    process.clock.at(process.clock.now() + ms, () => {
      if (process.isAlive) resolve()
    })
  })
}

/** All frames that were ever written, also those that are dropped with their generation, and those that the rules were told are written. */
export class Ledger {
  /** As the store holds them, by run, life and slot. */
  readonly written = new Map<string, Map<number, JournalEvent[]>>()
  readonly acknowledged = new Map<string, Map<number, string>>()
  private readonly lastAt = new Map<string, number>()

  write(life: string, { seq, events }: Pick<Frame, 'seq' | 'events'>, now: number): string | undefined {
    this.lastAt.set(life, now)
    const journal = entryOf(this.written, life)
    const before = journal.get(seq)
    journal.set(seq, events)
    const isSame = before === undefined || JSON.stringify(before) === JSON.stringify(events)
    return isSame
      ? undefined
      : `I1: slot ${seq} of ${life} was written twice: ${JSON.stringify(before)}, then ${JSON.stringify(events)}`
  }

  acknowledge(life: string, { seq, events }: Pick<Frame, 'seq' | 'events'>): void {
    entryOf(this.acknowledged, life).set(seq, JSON.stringify(events))
  }

  /** Whether one of a run's events, of any of its lives, is such. The last ones come first: they are asked for most. */
  someEvent(runId: string, isIt: (event: JournalEvent) => boolean): boolean {
    for (const [life, journal] of this.written) {
      if (!life.startsWith(`'${runId}' `)) continue
      for (const events of [...journal.values()].reverse()) if (events.some(isIt)) return true
    }
    return false
  }

  /** The last event that was written for a run, of the last of its lives. */
  lastEvent(runId: string): JournalEvent | undefined {
    const life = this.lastLife(runId)
    const journal = life === undefined ? undefined : this.written.get(life)!
    return journal?.get(Math.max(...journal.keys()))?.at(-1)
  }

  /** When it was written. */
  lastWriteAt(runId: string): number | undefined {
    const life = this.lastLife(runId)
    return life === undefined ? undefined : this.lastAt.get(life)
  }

  private lastLife(runId: string): string | undefined {
    return [...this.written.keys()].findLast((name) => name.startsWith(`'${runId}' `))
  }

  /** All that was written, in order: the same seed writes the same. */
  get trace(): string {
    return digest(JSON.stringify([...this.written].map(([life, journal]) => [life, [...journal]])))
  }

  /** What each run has done, whatever the order and the times. */
  history(): Record<string, string[]> {
    const history: Record<string, string[]> = {}
    for (const life of this.written.keys())
      history[life.split("' of ")[0]!.slice(1)] = this.eventsOf(life).flatMap(timeless).sort()
    return history
  }

  /** Every event of a run's life, over all its generations. */
  eventsOf(life: string): JournalEvent[] {
    const journal = this.written.get(life) ?? new Map<number, JournalEvent[]>()
    return [...journal].sort(([a], [b]) => a - b).flatMap(([, events]) => events)
  }
}

/** Stacks, times and made-up ids differ between worlds; and nonsense is set aside or refused, as it comes. */
function timeless(event: JournalEvent): string[] {
  if (event.type === 'callback.rejected') return []
  return [
    JSON.stringify(event, (key, value: unknown) =>
      ['dt', 'until', 'ms', 'at', 'order', 'notBefore', 'stack'].includes(key) ? undefined : value,
    ),
  ]
}

/** An id may be used again after its run's retention: what is written for a run is told apart by when it was created. */
export const lifeOf = ({ id, createdAt }: Pick<RunRecord, 'id' | 'createdAt'>): string =>
  `'${id}' of ${createdAt - START}`

function entryOf<V>(map: Map<string, Map<number, V>>, key: string): Map<number, V> {
  let entry = map.get(key)
  if (!entry) map.set(key, (entry = new Map()))
  return entry
}
