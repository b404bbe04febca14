import type { Scope } from './scenario.ts'
import type { LimiterToPass } from './witness.ts'

interface Numbers {
  concurrency?: number
  rate?: number
}

/** Numbers that were in force count on for so long: what was permitted by them may begin that much later. */
export const GRACE_MS = 200_000

interface Pause {
  scope: Scope | { run: string }
  since: number
}

/** What operators have changed: other numbers for limits, limits and runs that are paused, runs that are to stop. */
export class ForcedLimits {
  private readonly set = new Map<string, { from: number; to: number; numbers: Numbers }[]>()
  private readonly pauses = new Map<string, Pause>()
  private readonly pausedLimits = new Map<string, number>()
  private readonly toStop = new Set<string>()
  private readonly retries = new Map<string, number>()

  /** From now on, and as far as anybody knows for ever. It may count from when it was asked for. */
  setNumbers(limit: string, numbers: Numbers, now: number): void {
    const all = this.set.get(limit) ?? []
    this.set.set(limit, [...all, { from: now, to: Number.POSITIVE_INFINITY, numbers }])
  }

  /** The code's numbers count again, as the store has confirmed. */
  reset(limit: string, now: number): void {
    for (const each of this.set.get(limit) ?? []) each.to = Math.min(each.to, now)
  }

  /** The most that a limit may have taken lately: the code's numbers, or what operators have set. */
  most(gate: LimiterToPass, now: number): Numbers {
    const numbers: Numbers = { ...gate }
    for (const each of this.set.get(gate.limit) ?? []) {
      if (now > each.to + GRACE_MS) continue
      for (const what of ['concurrency', 'rate'] as const)
        if (numbers[what] !== undefined) numbers[what] = Math.max(numbers[what], each.numbers[what] ?? 0)
    }
    return numbers
  }

  /** The store has confirmed that a limit is paused; or somebody is about to resume it. */
  pauseLimit(limit: string, since: number | undefined): void {
    if (since === undefined) this.pausedLimits.delete(limit)
    else if (!this.pausedLimits.has(limit)) this.pausedLimits.set(limit, since)
  }

  limitPausedSince(limit: string): number | undefined {
    return this.pausedLimits.get(limit)
  }

  /** The store has confirmed a pause. */
  pause(scope: Pause['scope'], now: number): void {
    const name = JSON.stringify(scope)
    if (!this.pauses.has(name)) this.pauses.set(name, { scope, since: now })
  }

  /** Somebody is about to end it: from now on nothing is said of it. */
  resume(scope: Pause['scope']): void {
    this.pauses.delete(JSON.stringify(scope))
  }

  /** Since when a run is paused, by the pause that is the oldest. */
  pausedSince(runId: string, workflow: string): number | undefined {
    const times: number[] = []
    for (const { scope, since } of this.pauses.values()) {
      const isIn =
        'all' in scope ||
        ('workflow' in scope && scope.workflow === workflow) ||
        ('run' in scope && scope.run === runId)
      if (isIn) times.push(since)
    }
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** A run that is cancelled does not wait for a pause to end. */
  stop(runId: string): void {
    this.toStop.add(runId)
  }

  isToStop(runId: string): boolean {
    return this.toStop.has(runId)
  }

  retry(runId: string): void {
    this.retries.set(runId, this.retriesOf(runId) + 1)
  }

  retriesOf(runId: string): number {
    return this.retries.get(runId) ?? 0
  }
}
