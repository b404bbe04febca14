import type { Clock } from '../ports/world.ts'

/** Where the loop waits until something happens: a body reports, a message comes, a timer is due. */
export class Waker {
  private readonly clock: Clock
  private stop: (() => void) | undefined

  constructor(clock: Clock) {
    this.clock = clock
  }

  wake(): void {
    this.stop?.()
  }

  async sleep(until: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const stopTimer = this.clock.at(until, resolve)
      this.stop = () => {
        stopTimer()
        resolve()
      }
    })
    this.stop = undefined
  }
}
