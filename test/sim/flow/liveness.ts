import { hasEnded } from '../../../sdk/ports/run.ts'
import type { WorldName } from '../simulate.ts'
import { type FlowWitness, gateText, type LimiterToPass, type SeenRun, type SeenStep } from './witness.ts'

/**
 * Once trouble has ended, nothing that is not held back by a limit stands for longer. On AWS: a lease of 10 s, a sweeper that
 * comes once a minute, a message that Lambda had and lost. Locally the sweeper comes every 20 s.
 */
export const MOST_STANDING_MS: Record<WorldName, number> = { local: 90_000, aws: 180_000 }

/** A rate is counted in pieces of its period, so it may fall short by one of them. */
const RATE_ROUNDING = 1.05
const RATE_LATE_MS = 2_000

/** Looks again and again at what could move, and how long it has not. */
export class Liveness {
  longestMs = 0
  private readonly witness: FlowWitness
  private readonly mostMs: number
  private readonly free = new Map<string, number>()

  constructor(witness: FlowWitness, mostMs: number) {
    this.witness = witness
    // What takes a hundred calls takes a hundred times as long where calls are slow.
    this.mostMs = mostMs + 100 * witness.latency
  }

  /** What has stood for too long, in words. */
  look(): string[] {
    const { witness } = this
    const problems: string[] = []
    const seen = new Set<string>()
    for (const run of witness.runs.values()) {
      const state = witness.cloud.stored.run(run.id)
      if (!state || hasEnded(state.status) || state.status === 'stuck') continue
      for (const { what, movedAt, isHeld, gates } of this.waiting(run)) {
        const name = `${run.id} ${what}`
        seen.add(name)
        // Where others are served meanwhile, the limiter does not stand.
        const servedAt = Math.max(0, ...gates.map((gate) => witness.servedAt(gate)))
        const since = isHeld ? undefined : Math.max(this.free.get(name) ?? witness.now, movedAt, servedAt)
        if (since === undefined) this.free.delete(name)
        else {
          this.free.set(name, since)
          this.longestMs = Math.max(this.longestMs, witness.now - since)
          if (witness.now - since > this.mostMs)
            problems.push(`run '${run.id}' (${state.status}) has stood for ${witness.now - since} ms ${what}`)
        }
      }
    }
    for (const name of this.free.keys()) if (!seen.has(name)) this.free.delete(name)
    return problems
  }

  /** What a run waits to do next, and whether a limit or a timer holds it back. */
  private waiting(run: SeenRun): { what: string; movedAt: number; isHeld: boolean; gates: readonly LimiterToPass[] }[] {
    const { witness } = this
    const { now } = witness
    if (!run.isInside) {
      const isHeld = now < run.readyAt || run.gates.some((gate) => this.isFull(gate, 'run', 1))
      return [{ what: 'before its begin', movedAt: run.movedAt, isHeld, gates: run.gates }]
    }
    const steps = [...run.steps.values()].filter(({ state }) => state === 'called' || state === 'executing')
    const bodies = witness.bodies.filter((body) => body.run === run && witness.counts(body))
    const waiting = steps
      .filter((step) => !bodies.some((body) => body.step === step))
      .map((step) => ({
        what: `before step '${step.plan.name}'`,
        movedAt: step.movedAt,
        isHeld: this.isStepHeld(run, step),
        gates: step.gate ? [step.gate] : [],
      }))
    if (waiting.length > 0 || bodies.length > 0) return waiting
    return [{ what: 'with nothing left to wait for', movedAt: run.movedAt, isHeld: now < run.sleepsUntil, gates: [] }]
  }

  private isStepHeld(run: SeenRun, step: SeenStep): boolean {
    const { gate, readyAt, plan } = step
    if (this.witness.now < readyAt) return true
    // A task keeps its permit until its run has heard of its end.
    return gate !== undefined && !(plan.isTask && step.isTakenUp) && this.isFull(gate, run, plan.cost)
  }

  /** Only what has begun is known to be inside; what was permitted and has not begun could move. */
  private isFull(gate: LimiterToPass, who: 'run' | SeenRun, cost: number): boolean {
    const { witness } = this
    const { concurrency, rate, perMs } = gate
    if (witness.restsUntil(gate) + RATE_LATE_MS > witness.now) return true
    if (concurrency !== undefined) {
      const inside =
        who === 'run' ? witness.runsInside(gate).length : witness.bodiesInside(gate).length + this.tasksBetween(gate)
      if (inside >= concurrency) return true
    }
    return (
      rate !== undefined &&
      witness.begunWithin(gate, perMs! * RATE_ROUNDING + RATE_LATE_MS) + Math.min(cost, rate) > rate
    )
  }

  /** Tasks that a worker has had, and that are between two attempts. */
  private tasksBetween(gate: LimiterToPass): number {
    const { witness } = this
    let count = 0
    for (const run of witness.runs.values()) {
      if (!witness.isOpen(run.id)) continue
      for (const step of run.steps.values()) {
        const isIn = step.gate && gateText(step.gate) === gateText(gate) && step.plan.isTask && step.isTakenUp
        if (!isIn || step.state === 'settled' || step.state === 'failed') continue
        if (!witness.bodies.some((body) => body.step === step && witness.counts(body))) count++
      }
    }
    return count
  }
}
