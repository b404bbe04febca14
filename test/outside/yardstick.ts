import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MS = 10
/** What is on time passes through several processes, each of which may be kept waiting as long as this one was. */
const HOPS = 20
const NANOSECONDS = 1e6

/**
 * How late the timers of this very process are: what a promise about time may be missed by on a machine that has much to do. On a quiet
 * one that is next to nothing.
 */
export class Yardstick {
  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

  constructor() {
    this.delay.enable()
  }

  get allowanceMs(): number {
    const stall = this.delay.max / NANOSECONDS - RESOLUTION_MS
    return HOPS * Math.max(0, stall)
  }

  [Symbol.dispose](): void {
    this.delay.disable()
  }
}
