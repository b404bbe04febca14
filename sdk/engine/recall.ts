import { type Delivery, isDelivery, isFact } from '../base/events.ts'
import type { Forgotten, Journal } from './journal.ts'
import type { SignalMessage } from './mailbox.ts'
import type { Replay } from './replay.ts'

/**
 * What is still true of the events behind a failure that an operator has undone by a retry. What followed from the
 * failure is forgotten. What happened beside it stands, and is known by this: when its turn comes, the code has called
 * the operation. Signals that were consumed on the forgotten way are there again (I9).
 */
export class Recall {
  private readonly replay: Replay
  private readonly journal: Journal
  private returned: SignalMessage[] = []

  constructor(replay: Replay) {
    this.replay = replay
    this.journal = replay.journal
  }

  /** The next delivery that stands. Facts that stand are learned on the way. */
  next(undone: Forgotten): { event: Delivery; at: number } | undefined {
    const { operations, end } = this.replay
    for (let next = undone.events.shift(); next; next = undone.events.shift()) {
      const { event, at } = next
      const operation = 'id' in event && !end ? operations.get(event.id) : undefined
      if (!operation || operation.settled) {
        if (event.type === 'wait.completed') this.returnSignal(event)
      } else if (isDelivery(event)) {
        this.journal.noteConsumed(event)
        return { event, at }
      } else if (isFact(event) && !operation.facts?.opened) {
        operation.learn(event)
        if (this.journal.lost.has(event.id)) operation.lose()
      }
    }
    return undefined
  }

  private returnSignal({ id, from, payload }: Extract<Delivery, { type: 'wait.completed' }>): void {
    const name = this.journal.signalOf.get(id)
    if (name === undefined) return
    const signal = { id: from, kind: 'signal' as const, name, isReturned: true as const }
    this.returned.push({ ...signal, ...(payload !== undefined && { payload }) })
  }

  /** Signals whose waits were undone, and that no other wait has consumed since. */
  takeReturned(): SignalMessage[] {
    const kept = this.returned.filter(({ id }) => !this.journal.consumed.has(id))
    this.returned = []
    return kept
  }
}
