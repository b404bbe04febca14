import { Cron } from 'croner'
import type { Context } from './context.ts'
import { type Duration, milliseconds } from './engine/duration.ts'
import { InvalidInputError } from './engine/errors.ts'
import { assertSurvivesJson, throughJson } from './engine/json.ts'
import { checkName } from './engine/names.ts'
import { type AnyWorkflow, Registry, signal, type Workflow, workflow } from './workflow.ts'

export interface ScheduleOptions {
  /** Five or six fields, as in crontab. */
  cron?: string
  /** A fixed distance, counted from the last time. */
  every?: Duration
  /** An IANA name, for `cron`. Default UTC. Summer time is taken care of. */
  timezone?: string
  /** What happens when the last run is still under way: leave this one out, let it follow, or run both. Default `skip`. */
  overlap?: 'skip' | 'queue' | 'allow'
  /** After an outage, run every time that was missed instead of one for all of them. Default false. */
  catchUp?: boolean
}

/** A workflow that starts by itself, again and again. */
export interface Schedule {
  readonly name: string
  readonly workflow: AnyWorkflow
  readonly plan: Plan
}

/** What the schedule's own run works by. */
export interface Plan {
  name: string
  workflow: string
  version: number
  input?: unknown
  cron?: string
  everyMs?: number
  timezone: string
  overlap: 'skip' | 'queue' | 'allow'
  catchUp: boolean
}

export function schedule<I, O>(name: string, options: ScheduleOptions, target: Workflow<I, O>, input: I): Schedule {
  checkName('a schedule name', name)
  const what = `schedule '${name}'`
  const { cron, every, timezone = 'UTC', overlap = 'skip', catchUp = false } = options
  if ((cron === undefined) === (every === undefined)) throw new InvalidInputError(`${what}: give either cron or every`)
  assertSurvivesJson(input, `the input of ${what}`)
  const plan: Plan = {
    name,
    workflow: target.name,
    version: target.version,
    input: throughJson(input),
    timezone,
    overlap,
    catchUp,
    ...(cron !== undefined && { cron }),
    ...(every !== undefined && { everyMs: milliseconds(every, what) }),
  }
  try {
    if (nextTime(plan, Date.UTC(2026, 0, 1)) === undefined) throw new Error('it would never run')
  } catch (error) {
    throw new InvalidInputError(`${what}: ${cron ? `'${cron}' in time zone '${timezone}'` : 'its distance'} does not work: ${(error as Error).message}`)
  }
  return { name, workflow: target, plan }
}

/** The first time after `after`, as epoch milliseconds. */
export function nextTime({ cron, everyMs, timezone }: Plan, after: number): number | undefined {
  if (everyMs !== undefined) return after + everyMs
  return new Cron(cron!, { timezone, paused: true }).nextRun(new Date(after))?.getTime()
}

/** The last of the times from `due` to `now`: after an outage one run stands for all that were missed. */
function latestTime({ everyMs }: Plan, due: number, now: number): number {
  return everyMs === undefined ? Math.max(due, now) : due + Math.floor((now - due) / everyMs) * everyMs
}

/** Where a schedule stands between two generations of its run. */
export interface ScheduleState {
  plan: Plan
  isPaused: boolean
  /** The last time it was due. */
  lastDue?: number
  /** Started so far, and left out because the one before was still under way. */
  started: number
  skipped: number
}

export type Control = { action: 'pause' | 'resume' | 'trigger' } | { action: 'update'; plan: Plan }
export const control = signal<Control>('schedule control')

export const SCHEDULE_WORKFLOW = 'overwinter schedule'
export const scheduleRunId = (name: string): string =>
  `schedule.${encodeURIComponent(name)
    .replaceAll('%', '~')
    .replaceAll(/[!'()*]/g, '-')}`

/** A generation ends after so many events, so that the journal of a schedule stays short for ever. */
const EVENTS_PER_GENERATION = 20

/**
 * A schedule is a run like any other: it sleeps until it is due, which costs nothing, starts the workflow, and
 * continues as new. So it survives what every run survives, and needs nothing that runs do not have.
 */
function scheduleWorkflow(find: Find): AnyWorkflow {
  return workflow(SCHEDULE_WORKFLOW, async (ctx, state: ScheduleState) => new Clockwork(ctx, structuredClone(state), find).run())
}

type Find = (name: string, version: number) => AnyWorkflow

/** The workflows of a module that also has schedules: theirs, and the one that every schedule's own run is of. */
export function withSchedules(workflows: Iterable<AnyWorkflow>, schedules: readonly Schedule[]): AnyWorkflow[] {
  const all = new Set([...workflows, ...schedules.map((each) => each.workflow)])
  if (schedules.length === 0) return [...all]
  const registry = new Registry(all)
  return [...all, scheduleWorkflow((name, version) => registry.exact(name, version))]
}

class Clockwork {
  private readonly ctx: Context
  private readonly state: ScheduleState
  private readonly find: Find
  private sleeping: { due: number; woken: Promise<'due'> } | undefined
  private commanded: Promise<Control> | undefined
  private underWay: Promise<'ended'> | undefined
  private waiting = 0

  constructor(ctx: Context, state: ScheduleState, find: Find) {
    this.ctx = ctx
    this.state = state
    this.find = find
    state.lastDue ??= ctx.now()
  }

  async run(): Promise<never> {
    for (let events = 0; events < EVENTS_PER_GENERATION || this.underWay; events++) {
      this.ctx.progress({ ...this.state, nextDue: this.state.isPaused ? undefined : this.due() })
      const event = await this.nextEvent()
      if (event === 'due') this.onDue()
      else if (event === 'ended') this.onEnded()
      else this.obey(event)
    }
    return this.ctx.continueAsNew(this.state)
  }

  private nextEvent(): Promise<'due' | 'ended' | Control> {
    this.commanded ??= this.ctx.waitFor(control)
    const events: Promise<'due' | 'ended' | Control>[] = [this.commanded]
    if (this.underWay) events.push(this.underWay)
    const due = this.state.isPaused ? undefined : this.due()
    if (due !== undefined) {
      if (this.sleeping?.due !== due) this.sleeping = { due, woken: this.ctx.sleepUntil('next', due).then(() => 'due' as const) }
      events.push(this.sleeping.woken)
    }
    return Promise.race(events)
  }

  private due(): number | undefined {
    return nextTime(this.state.plan, this.state.lastDue!)
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
      if (plan.overlap === 'queue') this.waiting++
      else this.state.skipped++
      return
    }
    this.state.started++
    const target = this.find(plan.workflow, plan.version)
    const id = `${scheduleRunId(plan.name)}.${when.replaceAll(':', '-')}`
    if (plan.overlap === 'allow') void this.ctx.run(target, plan.input, { id, detached: true })
    else this.underWay = this.ctx.run(target, plan.input, { id, onParentEnd: 'abandon' }).then(ended, ended)
  }

  private onEnded(): void {
    this.underWay = undefined
    if (this.waiting === 0) return
    this.waiting--
    this.launch(`${new Date(this.ctx.now()).toISOString()}-queued-${this.state.started}`)
  }

  private obey(command: Control): void {
    this.commanded = undefined
    if (command.action === 'trigger') return this.launch(`${new Date(this.ctx.now()).toISOString()}-triggered-${this.state.started}`)
    if (command.action === 'update') this.state.plan = command.plan
    else this.state.isPaused = command.action === 'pause'
    // A new plan counts from now, and what was due during a pause is not made up for.
    this.state.lastDue = this.ctx.now()
  }
}

const ended = (): 'ended' => 'ended'
