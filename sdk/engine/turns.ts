import type { Delivery } from '../base/events.ts'
import { outgoingAtCancel } from './ending.ts'
import { isDetached, type Operation } from './operation.ts'
import type { Starts } from './starts.ts'
import type { Steps } from './steps.ts'
import type { Visit } from './visit.ts'
import type { Waits } from './waits.ts'

/** The next delivery to the code; a promise where it has to be looked for. */
type Next = Delivery | undefined | Promise<Delivery | undefined>

/**
 * The two ways between the loop and the code: what the code asks for is opened, what has happened is delivered, one
 * turn each (I2).
 */
export class Turns {
  private readonly visit: Visit
  private readonly waits: Waits
  private readonly steps: Steps
  private readonly starts: Starts
  /** Operations that were over as soon as they were opened. */
  private readonly settledAtOpening: Delivery[] = []

  constructor(visit: Visit, waits: Waits, steps: Steps, starts: Starts) {
    this.visit = visit
    this.waits = waits
    this.steps = steps
    this.starts = starts
  }

  /** Opens what the code has asked for. */
  open(): Promise<void> | undefined {
    const { replay, closing } = this.visit
    closing.noteDecisions()
    const fresh = replay.takeFresh()
    if (fresh.some(({ kind }) => kind !== 'step')) return this.openInOrder(fresh)
    for (const operation of fresh) if (!operation.settled) this.steps.prepare(operation)
    return undefined
  }

  private async openInOrder(fresh: readonly Operation[]): Promise<void> {
    for (const operation of fresh) {
      if (operation.kind === 'step') {
        if (!operation.settled) this.steps.prepare(operation)
      } else if (!operation.settled || isDetached(operation)) {
        const delivery = await this.waits.open(operation)
        if (delivery) this.settledAtOpening.push(delivery)
      }
    }
  }

  /** Hands the code everything that has happened, one turn each. True when the code has moved. */
  deliverAll(): false | Promise<boolean> {
    const first = this.nextDelivery()
    return first !== undefined && this.deliverFrom(first, this.nextDelivery)
  }

  private async deliverFrom(first: Next, nextAfter: () => Next): Promise<boolean> {
    const { replay, buffer, closing } = this.visit
    let hasMoved = false
    let next = first
    for (;;) {
      const delivery = next instanceof Promise ? await next : next
      if (!delivery) return hasMoved
      await replay.deliver(delivery, buffer.add(delivery))
      // Right behind what it was decided after: that is where a replay looks for it.
      if (closing.noteDecisions()) this.steps.dropWithdrawn()
      if (delivery.type === 'run.cancelRequested' || delivery.type === 'run.timedOut') this.stop()
      hasMoved = true
      if (replay.end || replay.violation) return true
      next = this.nextSettled()
      // The code may now wait for a message that is older than those the open waits are for: open that wait first.
      if (!next && replay.hasFresh) return true
      next ??= nextAfter()
    }
  }

  /** At once where it can be: a promise for every step of every run is most of the garbage this loop makes. */
  private readonly nextDelivery = (): Next => {
    const settled = this.nextSettled()
    if (settled) return settled
    const { inbox, world } = this.visit
    return inbox.isStale
      ? this.readInbox().then(() => this.waits.next(world.clock.now()))
      : this.waits.next(world.clock.now())
  }

  /** Only what has settled by itself: for a runner that has no time left. */
  async deliverSettled(): Promise<void> {
    const settled = this.nextSettled()
    if (settled) await this.deliverFrom(settled, () => undefined)
  }

  private nextSettled(): Delivery | undefined {
    return this.settledAtOpening.shift() ?? this.steps.nextSettled()
  }

  private async readInbox(): Promise<void> {
    this.waits.receive(await this.visit.inbox.read())
    this.starts.checkGrants()
  }

  private stop(): void {
    const { run, replay, closing, buffer } = this.visit
    this.steps.stop(replay.stopRequested!)
    for (const message of outgoingAtCancel(run, replay.stopsRequested, closing.allEvents())) buffer.send(message)
  }
}
