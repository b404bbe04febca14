import type { Clock } from '../../../../sdk/ports/world.ts'

/** Who wants to know when a queue changes. */
export class Changes {
  private readonly listeners = new Set<() => void>()

  on(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  notify(): void {
    // Of a copy: who is told may listen again at once, for the next change.
    for (const listener of Array.from(this.listeners)) listener()
  }

  /** The next change, that time, or the wait's being given up: whichever comes first. */
  next(clock: Clock, time: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        stopListening()
        stopTimer()
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const stopListening = this.on(wake)
      const stopTimer = clock.at(time, wake)
      signal?.addEventListener('abort', wake)
    })
  }
}
