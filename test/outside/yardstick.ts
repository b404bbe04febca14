import { availableParallelism, loadavg } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MS = 10
/** What is on time passes through several processes, each of which may be kept waiting as long as this one was. */
const HOPS = 20
const NANOSECONDS = 1e6

/**
 * What a promise about time may be missed by: a little more than this process was itself kept waiting, which on a quiet machine is next
 * to nothing. One that has more to do than it can shows nothing about promptness, so there it may be anything.
 */
export class Yardstick {
  private readonly isOverloaded = loadavg()[0]! > availableParallelism()
  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

  constructor() {
    this.delay.enable()
  }

  get allowanceMs(): number {
    if (this.isOverloaded) return Number.POSITIVE_INFINITY
    const stall = this.delay.max / NANOSECONDS - RESOLUTION_MS
    return HOPS * Math.max(0, stall)
  }

  [Symbol.dispose](): void {
    this.delay.disable()
  }
}
