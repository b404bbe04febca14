import type { Clock } from '../ports/world.ts'

/** Time that advances only when a test moves it. */
export class VirtualClock implements Clock {
  /** Grows with every use: while it grows, work is in progress. */
  uses = 0
  private current: number
  private readonly timers = new Map<number, { at: number; callback: () => void }>()
  private nextId = 0

  constructor(start: number) {
    this.current = start
  }

  now(): number {
    this.uses++
    return this.current
  }

  at(time: number, callback: () => void): () => void {
    this.uses++
    if (time === Number.POSITIVE_INFINITY) return () => {}
    const id = this.nextId++
    this.timers.set(id, { at: time, callback })
    if (time <= this.current) queueMicrotask(() => this.fire(id))
    return () => this.timers.delete(id)
  }

  get timerCount(): number {
    return this.timers.size
  }

  /** When the earliest timer is due. */
  next(): number | undefined {
    let earliest: number | undefined
    for (const { at } of this.timers.values()) if (earliest === undefined || at < earliest) earliest = at
    return earliest
  }

  /** Moves to `time`; timers that are due fire in order. */
  moveTo(time: number): void {
    this.current = Math.max(this.current, time)
    const due = [...this.timers]
      .filter(([, timer]) => timer.at <= this.current)
      .sort(([a, x], [b, y]) => x.at - y.at || a - b)
    for (const [id] of due) this.fire(id)
  }

  private fire(id: number): void {
    const timer = this.timers.get(id)
    if (!timer || timer.at > this.current) return
    this.timers.delete(id)
    timer.callback()
  }
}
