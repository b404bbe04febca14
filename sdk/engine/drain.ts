import type { QueuePlace } from '../ports/permits.ts'
import type { KnownPauses } from './flow-port.ts'
import type { Starts } from './starts.ts'
import type { Steps } from './steps.ts'
import type { Visit } from './visit.ts'

/** In the last seconds before its deadline a runner begins no step; in the very last second it waits for none. */
const STOP_STARTING_MS = 5_000
const LET_GO_MS = 1_000

/** Why nothing new begins in this visit, and when the visit is over. */
export interface Stop {
  /** False: what the code asks for from now on is opened by the next visit. */
  readonly mayOpen: boolean
  /** Where the run has to queue. Without it another runner goes on with the run. */
  readonly queueAt?: QueuePlace
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

  /** Reads whether the run was paused, unless this process has read it within the last seconds. */
  refresh(): Promise<void> | undefined {
    return this.pauses.refresh()
  }

  /** Why the visit has to stop, if it has to. The steps of a paused run leave their queues. */
  check(): Stop | undefined {
    const { visit, steps, starts } = this
    const queueAt = this.pauses.placeOf(visit)
    if (queueAt) {
      starts.leaveQueues()
      return { mayOpen: false, queueAt, isOver: () => (steps.areRunning ? this.mustLetGo : !steps.haveReported) }
    }
    if (visit.options.deadline === undefined || visit.timeLeft() > STOP_STARTING_MS) return undefined
    return { mayOpen: true, isOver: () => (steps.areRunning ? this.mustLetGo : starts.any || starts.hasRequests) }
  }

  /** The timer is so close that this runner waits for it, instead of suspending the run. */
  waitsFor(due: number | undefined, stop: Stop | undefined): boolean {
    const { world, permits } = this.visit
    if (due === undefined || due > Math.max(world.clock.now() + world.inlineWaitMs, permits.staysUntil)) return false
    return this.visit.timeLeft() > LET_GO_MS && stop?.mayOpen !== false
  }

  /** This process stood still past its deadline, so how long a body has run says nothing of how long it takes. */
  get isLate(): boolean {
    return this.visit.timeLeft() < -LET_GO_MS
  }

  /** There is no time left for bodies that still run. */
  private get mustLetGo(): boolean {
    return this.visit.timeLeft() <= LET_GO_MS
  }

  /** When this runner cuts off the bodies that still run. */
  get lastMoment(): number {
    const { deadline } = this.visit.options
    return deadline === undefined ? Number.POSITIVE_INFINITY : deadline - LET_GO_MS
  }
}
