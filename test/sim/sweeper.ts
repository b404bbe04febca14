import type { VirtualClock } from '../../sdk/testing/index.ts'

const GROWTH = 1.5

/**
 * Looks again and again for what nobody else took care of. While nothing happens it looks less and less often, or a year
 * of sleep would be a year of looking; as soon as something happens it is prompt again.
 */
export class Sweeper {
  private readonly clock: VirtualClock
  private readonly everyMs: number
  private readonly laziestMs: number
  private readonly sweep: () => Promise<void>
  private pause: number
  private next = 0
  private cancel = () => {}

  constructor(
    clock: VirtualClock,
    { everyMs, laziestMs }: { everyMs: number; laziestMs: number },
    sweep: () => Promise<void>,
  ) {
    this.clock = clock
    this.everyMs = everyMs
    this.laziestMs = laziestMs
    this.sweep = sweep
    this.pause = everyMs
    this.arm(everyMs)
  }

  /** Something has happened. */
  stir(): void {
    this.pause = this.everyMs
    if (this.next > this.clock.now() + this.everyMs) this.arm(this.everyMs)
  }

  private arm(inMs: number): void {
    this.cancel()
    this.next = this.clock.now() + inMs
    this.cancel = this.clock.at(this.next, () => {
      this.pause = Math.min(this.laziestMs, Math.round(this.pause * GROWTH))
      this.arm(this.pause)
      void this.sweep()
    })
  }
}
