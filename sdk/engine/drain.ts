import type { QueuePlace } from '../ports/permits.ts'
import type { KnownPauses } from './flow-port.ts'
import type { Starts } from './starts.ts'
import type { Steps } from './steps.ts'
import type { Visit } from './visit.ts'

/** No step is started in the last seconds before the deadline, and none is waited for in the very last. */
const STOP_STARTING_MS = 5_000
const LET_GO_MS = 1_000

/** Why nothing new begins in this visit, and when it is over. */
export interface Stop {
  /** What the code asks for from now on waits for the next visit. */
  readonly opensNothing: boolean
  /** Where the run has to queue; otherwise another runner goes on with it. */
  readonly place?: QueuePlace
  /** All bodies have ended, or there is no time left for them. */
  isOver(): boolean
}

/** A deadline and a pause are one thing to the loop: begin nothing new, let bodies end, hand the run over. */
export class Drain {
  private readonly visit: Visit
  private readonly pauses: KnownPauses
  private readonly steps: Steps
  private readonly starts: Starts

  constructor(visit: Visit, steps: Steps, starts: Starts) {
    this.visit = visit
    this.pauses = visit.world.flow.pauses(visit.world)
    this.steps = steps
    this.starts = starts
  }

  /** Looks whether the run was paused, unless this process has looked a moment ago. */
  look(): Promise<void> | undefined {
    return this.pauses.look()
  }

  /** Why the visit has to stop, if it has to. A run that is paused leaves the queues of its steps to others. */
  check(): Stop | undefined {
    const { visit, steps, starts } = this
    const place = this.pauses.placeOf(visit)
    if (place) {
      starts.stepBack()
      return { opensNothing: true, place, isOver: () => (steps.areRunning ? this.mustLetGo : !steps.haveReported) }
    }
    if (visit.options.deadline === undefined || visit.timeLeft() > STOP_STARTING_MS) return undefined
    return { opensNothing: false, isOver: () => (steps.areRunning ? this.mustLetGo : starts.any || starts.areToAsk) }
  }

  /** A timer that is this close is waited for here. */
  waitsFor(due: number | undefined, stop: Stop | undefined): boolean {
    const { world, permits } = this.visit
    if (due === undefined || due > Math.max(world.clock.now() + world.inlineWaitMs, permits.staysUntil)) return false
    return this.visit.timeLeft() > LET_GO_MS && !stop?.opensNothing
  }

  /** This process stood still past its deadline, so how long a body has run says nothing of how long it takes. */
  get isLate(): boolean {
    return this.visit.timeLeft() < -LET_GO_MS
  }

  /** There is no time left for bodies that still run. */
  private get mustLetGo(): boolean {
    return this.visit.timeLeft() <= LET_GO_MS
  }

  /** When bodies that still run are cut off. */
  get lastMoment(): number {
    const { deadline } = this.visit.options
    return deadline === undefined ? Number.POSITIVE_INFINITY : deadline - LET_GO_MS
  }
}
