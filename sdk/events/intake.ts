import { asError } from '../base/error-records.ts'
import type { Client } from '../client/client.ts'
import type { LogSink } from '../ports/world.ts'
import type { EventMapping } from './mapping.ts'
import { idOf, type Taken, takeEvent, verdictOf } from './take.ts'

/** An event as its source delivered it. */
export interface Arrival {
  event: unknown
  /** What keeps it from being one. */
  problem?: string
  /** What it keeps its order among. */
  group?: string
  /** The source will not bring it again. */
  isLastTry?: boolean
}

/** An event that will never do, for people to look at. */
export interface DeadEvent {
  event: unknown
  id: string | undefined
  reason: string
}

/** `again`: it is to be brought once more. `isTrouble`: for a reason that has nothing to do with the event. */
export type Outcome =
  | { state: 'taken'; taken: Taken }
  | { state: 'dead'; reason: string }
  | { state: 'again'; reason: string; isTrouble: boolean }

export interface IntakeOptions {
  client: Client
  /** Or what is wrong with it, which is then what is wrong with every event. */
  mapping: EventMapping | { problem: string }
  /** For so long after its time, an event whose run is not there is tried again. */
  patienceMs: number
  /** Must not lose it: it is the last who has it. */
  bury: (dead: DeadEvent) => Promise<void>
  log: LogSink
}

/** Takes events in, and decides what becomes of those that it cannot take. Never throws. */
export class Intake {
  private readonly options: IntakeOptions

  constructor(options: IntakeOptions) {
    this.options = options
  }

  async take(arrival: Arrival): Promise<Outcome> {
    try {
      return await this.tryTo(arrival)
    } catch (error) {
      // Even to bury it failed.
      return this.again(arrival, asError(error).message, true)
    }
  }

  private async tryTo(arrival: Arrival): Promise<Outcome> {
    const { client, mapping } = this.options
    const problem = arrival.problem ?? ('problem' in mapping ? mapping.problem : undefined)
    if (problem !== undefined) return this.bury(arrival, problem)
    try {
      return { state: 'taken', taken: await takeEvent(client, mapping as EventMapping, arrival.event) }
    } catch (error) {
      const verdict = verdictOf(error)
      const { message } = asError(error)
      if (verdict === 'transient') return this.again(arrival, message, true)
      if (verdict === 'poison') return this.bury(arrival, message)
      if (this.mayComeLater(arrival)) return this.again(arrival, message, false)
      return this.bury(arrival, `${message}. It was waited for; start the run, and send the event again`)
    }
  }

  private mayComeLater({ event, isLastTry }: Arrival): boolean {
    const { client, patienceMs } = this.options
    const since = Date.parse(String((event as { time?: unknown } | null)?.time))
    return !isLastTry && client.world.clock.now() - since < patienceMs
  }

  private async bury({ event }: Arrival, reason: string): Promise<Outcome> {
    await this.options.bury({ event, id: idOf(event), reason })
    return { state: 'dead', reason }
  }

  private again({ event }: Arrival, reason: string, isTrouble: boolean): Outcome {
    this.options.log(isTrouble ? 'error' : 'info', `an event could not be taken, and is to come again: ${reason}`, {
      eventId: idOf(event),
    })
    return { state: 'again', reason, isTrouble }
  }
}

/**
 * Takes a batch. Events of one group go one after the other, and none goes ahead of one that is to come again; groups, and events without one, do not wait
 * for each other. Outcomes are in the order of the arrivals.
 */
export async function takeBatch<A extends Arrival>(
  arrivals: readonly A[],
  take: (arrival: A) => Promise<Outcome>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = new Array(arrivals.length)
  const groups = Map.groupBy(arrivals.keys(), (i) => arrivals[i]!.group ?? i)
  const inTurn = async (places: number[]) => {
    let held: Outcome | undefined
    for (const i of places) {
      outcomes[i] = held ?? (await take(arrivals[i]!))
      if (outcomes[i]!.state === 'again')
        held ??= { state: 'again', reason: 'one before it in its group is to come again', isTrouble: false }
    }
  }
  await Promise.all([...groups.values()].map(inTurn))
  return outcomes
}
