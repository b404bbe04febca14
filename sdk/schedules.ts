import type { Client, RepeatOptions, RunView } from './client.ts'
import { ConflictError, RunNotFoundError } from './engine/errors.ts'
import { canonicalJson } from './engine/json.ts'
import { digest } from './engine/names.ts'
import { hasEnded } from './ports.ts'
import { type Control, control, type Plan, SCHEDULE_WORKFLOW, type Schedule, type ScheduleState, scheduleRunId } from './schedule.ts'

/** What can be seen of a schedule from outside. */
export interface ScheduleView extends Omit<Plan, 'input'> {
  runId: string
  isPaused: boolean
  nextDue?: number
  started: number
  skipped: number
}

type AnyClient = Pick<Client, 'start' | 'get' | 'list' | 'signal' | 'terminate'>

/** Lists and steers schedules, and brings those in the store in line with those in the code. Works with either client. */
export class Schedules {
  private readonly client: AnyClient

  constructor(client: AnyClient) {
    this.client = client
  }

  /** Starts schedules that are new, tells others of a new plan, and ends those that the code no longer has. */
  async sync(schedules: readonly Schedule[]): Promise<void> {
    for (const { plan } of schedules) await this.bringInLine(plan)
    const wanted = new Set(schedules.map(({ name }) => scheduleRunId(name)))
    for (const { runId } of await this.list()) if (!wanted.has(runId)) await this.client.terminate(runId, 'the code no longer has this schedule')
  }

  async list(): Promise<ScheduleView[]> {
    const views: ScheduleView[] = []
    let cursor: string | undefined
    do {
      const page = await this.client.list({ workflow: SCHEDULE_WORKFLOW, limit: 1_000, ...(cursor !== undefined && { cursor }) })
      views.push(...page.runs.filter((run) => !hasEnded(run.status)).map(toView))
      cursor = page.cursor
    } while (cursor !== undefined)
    return views.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async pause(name: string, options?: RepeatOptions): Promise<void> {
    await this.command(name, { action: 'pause' }, options)
  }

  async resume(name: string, options?: RepeatOptions): Promise<void> {
    await this.command(name, { action: 'resume' }, options)
  }

  /** Starts a run now, whatever the plan says. */
  async trigger(name: string, options?: RepeatOptions): Promise<void> {
    await this.command(name, { action: 'trigger' }, options)
  }

  private async command(name: string, command: Control, options?: RepeatOptions): Promise<void> {
    try {
      await this.client.signal(scheduleRunId(name), control, command, options)
    } catch (error) {
      if (!(error instanceof RunNotFoundError || error instanceof ConflictError)) throw error
      const known = (await this.list()).map((each) => each.name)
      throw new RunNotFoundError(`no schedule '${name}'; known: ${known.join(', ') || 'none'}`)
    }
  }

  private async bringInLine(plan: Plan): Promise<void> {
    const runId = scheduleRunId(plan.name)
    const existing = await this.client.get(runId).catch((error: unknown) => {
      if (error instanceof RunNotFoundError) return undefined
      throw error
    })
    if (!existing) {
      const state: ScheduleState = { plan, isPaused: false, started: 0, skipped: 0 }
      // Several processes may come here at once; the first one makes it.
      await this.client.start(SCHEDULE_WORKFLOW, state, { id: runId }).catch((error: unknown) => {
        if (!(error instanceof ConflictError)) throw error
      })
    } else if (canonicalJson(stateOf(existing).plan) !== canonicalJson(plan)) {
      const key = `plan ${digest(canonicalJson(plan))} ${existing.generation}`
      await this.client.signal(runId, control, { action: 'update', plan }, { idempotencyKey: key })
    }
  }
}

function stateOf(run: RunView): ScheduleState & { nextDue?: number } {
  return (run.progress ?? run.input) as unknown as ScheduleState
}

function toView(run: RunView): ScheduleView {
  const { plan, isPaused, nextDue, started, skipped } = stateOf(run)
  const { input: _, ...shown } = plan
  return { ...shown, runId: run.id, isPaused, started, skipped, ...(nextDue !== undefined && { nextDue }) }
}
