import type { LogSink } from '../../sdk/ports/world.ts'

/** Keeps what is logged, and tells how fast it came. */
export class LogWatch {
  readonly lines: { at: number; message: string }[] = []
  readonly sink: LogSink = (_level, message) => void this.lines.push({ at: performance.now(), message })

  /** The most lines in any one second. */
  get mostInASecond(): number {
    let most = 0
    for (let first = 0, last = 0; last < this.lines.length; last++) {
      while (this.lines[last]!.at - this.lines[first]!.at > 1_000) first++
      most = Math.max(most, last - first + 1)
    }
    return most
  }
}
