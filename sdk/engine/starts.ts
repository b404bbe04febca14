import type { Operation } from './operation.ts'
import type { Visit } from './visit.ts'

/** A permit that was for a moment that has passed is asked for again, and not for ever. */
const MOST_ROUNDS = 5

/** The queue between "ready" and "begin". Limited operations get their permit here; the others pass through. */
export class Starts {
  private readonly visit: Visit
  private ready: Operation[] = []

  constructor(visit: Visit) {
    this.visit = visit
  }

  /** Operations that may begin. */
  get any(): boolean {
    return this.ready.length > 0
  }

  /** Operations that need a permit and have not asked. */
  get areToAsk(): boolean {
    return this.visit.permits.areToAsk
  }

  get waiting(): readonly Operation[] {
    return this.ready
  }

  add(operation: Operation): void {
    this.ready.push(operation)
  }

  take(): Operation[] {
    const { ready } = this
    this.ready = []
    return ready
  }

  drop(isDropped: (operation: Operation) => boolean): void {
    this.ready = this.ready.filter((operation) => !isDropped(operation))
  }

  /** Something has come from outside: it may be a permit. */
  lookAgain(): void {
    this.visit.permits.lookAgain()
  }

  /** Nothing begins now, and what waits for a permit leaves its place to others. */
  stepBack(): void {
    this.visit.permits.stepBack()
  }

  /** Asks with a commit: what the run may hold is in its journal before it holds it. False: another runner has the run. */
  async ask(): Promise<boolean> {
    const { permits, buffer } = this.visit
    for (let round = 0; permits.areToAsk && round < MOST_ROUNDS; round++) {
      await permits.ask()
      if (buffer.isDirty && !this.visit.keeps(await buffer.save())) return false
    }
    return true
  }
}
