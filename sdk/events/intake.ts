import { asError } from '../base/error-records.ts'
import type { Client } from '../client/client.ts'
import type { LogSink } from '../ports/world.ts'
import type { EventMapping } from './mapping.ts'
import { idOf, type Taken, takeEvent, verdictOf } from './take.ts'

/** An event as its source delivered it. */
export interface Arrival {
  event: unknown
  /** Why it is not a usable event. */
  problem?: string
  /** The group within which events keep their order. */
  group?: string
  /** The source will not deliver it again. */
  isLastTry?: boolean
}

/** An event that can never be taken, for people to look at. */
export interface DeadEvent {
  event: unknown
  id: string | undefined
  reason: string
}

/** `again`: the source is to deliver it again. `isTrouble`: for a reason that has nothing to do with the event. */
export type Outcome =
  | { state: 'taken'; taken: Taken }
  | { state: 'dead'; reason: string }
  | { state: 'again'; reason: string; isTrouble: boolean }

export interface IntakeOptions {
  client: Client
  /** The mapping, or its problem, which then affects every event. */
  mapping: EventMapping | { problem: string }
  /** How long after an event's own time it is retried if its run does not exist. */
  patienceMs: number
  /** Must not lose it: the event has been removed from its source. */
  bury: (dead: DeadEvent) => Promise<void>
  log: LogSink
}

/** Takes events in, and decides what happens to events that cannot be taken. Never throws. */
export class Intake {
  private readonly options: IntakeOptions

  constructor(options: IntakeOptions) {
    this.options = options
  }

  async take(arrival: Arrival): Promise<Outcome> {
    try {
      return await this.tryTo(arrival)
    } catch (error) {
      // Burying the event failed too.
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
 * Takes a batch. Events of one group go one after the other, and none overtakes an earlier one that will be
 * retried. Groups, and events without one, do not wait for each other. Outcomes are in the order of the
 * arrivals.
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
