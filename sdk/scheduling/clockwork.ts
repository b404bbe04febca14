import { MAX_WAIT_MS } from '../base/duration.ts'
import type { Json } from '../base/json.ts'
import { canonicalJson } from '../base/json.ts'
import { decode } from '../base/values.ts'
import type { Context } from '../context.ts'
import { type AnyWorkflow, workflow } from '../workflow.ts'
import { type Control, control } from './control.ts'
import { latestTime, nextTime, type Plan, timesBetween } from './plan.ts'
import type { ScheduleProgress, ScheduleState } from './state.ts'

/** A generation ends after so many events, so that the journal of a schedule stays short. */
const EVENTS_PER_GENERATION = 20

/** At most this many runs queue up behind a run that takes too long; further ones are skipped. */
const MOST_WAITING = 1_000

/** Throws if the current code does not have the workflow. */
export type Find = (name: string, version: number) => AnyWorkflow

type Event = 'due' | 'part of the way' | 'ended' | Control

/** The code of a schedule's own run. */
export class Clockwork {
  private readonly ctx: Context
  private readonly state: ScheduleState
  private readonly find: Find
  /** Generations that 0.1.0 began have journaled every due time beside a run, and continue to do so. */
  private readonly restsMeanwhile: boolean
  private sleeping: { due: number; woken: Promise<Event> } | undefined
  private commanded: Promise<Control> | undefined
  private underWay: Promise<'ended'> | undefined

  constructor(ctx: Context, state: ScheduleState, find: Find) {
    this.ctx = ctx
    this.state = state
    this.find = find
    this.restsMeanwhile = state.serial !== undefined
    state.lastDue ??= ctx.now()
    state.waiting ??= 0
  }

  async run(): Promise<never> {
    for (let events = 0; events < EVENTS_PER_GENERATION || this.underWay; events++) {
      this.launchWaiting()
      this.show()
      const event = await this.nextEvent()
      if (event === 'due') this.onDue()
      else if (event === 'part of the way') this.sleeping = undefined
      else if (event === 'ended') this.onEnded()
      else this.obey(event)
    }
    return this.ctx.continueAsNew(this.state)
  }

  private show(): void {
    const nextDue = this.due()
    this.ctx.progress({ ...this.state, ...(nextDue !== undefined && { nextDue }) } satisfies ScheduleProgress)
  }

  private nextEvent(): Promise<Event> {
    this.commanded ??= this.ctx.waitFor(control)
    const events: Promise<Event>[] = [this.commanded]
    if (this.underWay) events.push(this.underWay)
    const due = this.due()
    if (due !== undefined) {
      if (this.sleeping?.due !== due) this.sleeping = { due, woken: this.sleepTowards(due) }
      events.push(this.sleeping.woken)
    }
    return Promise.race(events)
  }

  /** A due time may be further away than a run can sleep: the next 29 February, and any date across a leap year. */
  private async sleepTowards(due: number): Promise<Event> {
    const until = Math.min(due, this.ctx.now() + MAX_WAIT_MS)
    await this.ctx.sleepUntil('next', until)
    return until === due ? 'due' : 'part of the way'
  }

  private due(): number | undefined {
    if (this.state.isPaused || this.isResting()) return undefined
    return nextTime(this.state.plan, this.state.lastDue!)
  }

  /**
   * Due times beside a run that takes a year are counted when it ends; journaling each would make the journal
   * too long.
   */
  private isResting(): boolean {
    return this.restsMeanwhile && this.underWay !== undefined && this.state.plan.overlap !== 'allow'
  }

  private onDue(): void {
    const { plan } = this.state
    const { due } = this.sleeping!
    this.sleeping = undefined
    this.state.lastDue = plan.catchUp ? due : latestTime(plan, due, this.ctx.now())
    this.launch(new Date(due).toISOString())
  }

  private launch(when: string): void {
    const { plan } = this.state
    if (this.underWay && plan.overlap !== 'allow') {
      if (plan.overlap === 'queue') this.state.waiting!++
      else this.state.skipped++
      return
    }
    this.state.started++
    delete this.state.lastError
    const ending = this.start(`${this.ctx.info.runId}.${when.replaceAll(':', '-')}`).catch((error: Error) =>
      this.note(error),
    )
    if (plan.overlap !== 'allow') this.underWay = ending.then(() => 'ended')
  }

  /** Rejects if the run cannot be started, or, unless overlap is allowed, when it does not complete. */
  private async start(id: string): Promise<unknown> {
    const { workflow: name, version, input: kept, overlap } = this.state.plan
    const input = decode(kept as Json | undefined)
    let target: AnyWorkflow
    try {
      target = this.find(name, version)
    } catch (error) {
      return this.ctx.run(cannotStart(name, version, error as Error), input, { id, onParentEnd: 'abandon' })
    }
    return this.ctx.run(target, input, overlap === 'allow' ? { id, detached: true } : { id, onParentEnd: 'abandon' })
  }

  private note({ message }: Error): void {
    this.state.lastError = { at: this.ctx.now(), message }
    this.show()
  }

  private onEnded(): void {
    this.countWhatCameDue()
    this.underWay = undefined
    // A later generation may end here instead: runs that follow each other without a gap would otherwise
    // prevent it.
    if (!this.restsMeanwhile) this.launchWaiting()
  }

  private countWhatCameDue(): void {
    const { state } = this
    if (state.isPaused || !this.isResting()) return
    const { count, last } = timesBetween(state.plan, state.lastDue!, this.ctx.now())
    const queued = state.plan.overlap === 'queue' ? Math.min(count, Math.max(0, MOST_WAITING - state.waiting!)) : 0
    state.waiting! += queued
    state.skipped += count - queued
    state.lastDue = last
  }

  private launchWaiting(): void {
    const { state } = this
    if (this.underWay || state.waiting === 0 || (state.isPaused && this.restsMeanwhile)) return
    state.waiting!--
    this.launch(`${new Date(this.ctx.now()).toISOString()}-queued-${state.started}`)
  }

  private obey(command: Control): void {
    this.commanded = undefined
    if (command.action === 'trigger')
      return this.launch(`${new Date(this.ctx.now()).toISOString()}-triggered-${this.state.started}`)
    this.countWhatCameDue()
    if (command.action === 'update') {
      if (!this.takeUp(command.plan, command.serial)) return
    } else this.state.isPaused = command.action === 'pause'
    // A new plan counts from now, and times missed during a pause are not made up for.
    this.state.lastDue = this.ctx.now()
  }

  /** Takes over a plan; false if it is not newer. An update may come twice, and after a later one. */
  private takeUp(plan: Plan, serial: number | undefined): boolean {
    const before = this.state
    // Updates of 0.1.0, without a serial.
    if (serial === undefined) {
      before.plan = plan
      return true
    }
    if (serial <= (before.serial ?? 0)) return false
    before.serial = serial
    if (canonicalJson(before.plan) === canonicalJson(plan)) return false
    before.plan = plan
    return true
  }
}

/**
 * Stands in for a workflow that the code does not have. A run that the journal knows continues under it; a
 * new start is refused by the check before it, and the refusal is journaled. Skipping `ctx.run` would not fit
 * a journal in which earlier code had called it.
 */
function cannotStart(name: string, version: number, why: Error): AnyWorkflow {
  const refuse = (): never => {
    throw why
  }
  const input = { '~standard': { version: 1, vendor: 'overwinter', validate: refuse } } as const
  return workflow(name, { version, input }, refuse)
}
