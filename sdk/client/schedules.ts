import { ConflictError, InvalidInputError, RunNotFoundError } from '../base/errors.ts'
import { hasEnded, type RunRecord } from '../ports/run.ts'
import type { Schedule } from '../schedule.ts'
import { control } from '../scheduling/control.ts'
import { nextTime, type Plan } from '../scheduling/plan.ts'
import { type ScheduleRecord, ScheduleRecords } from '../scheduling/records.ts'
import { type ScheduleState, stateOf } from '../scheduling/state.ts'
import { ScheduleSync } from '../scheduling/sync.ts'
import type { Client } from './client.ts'
import type { RepeatOptions } from './options.ts'
import type { ScheduleClient } from './workflow-client.ts'

/** What can be seen of a schedule from outside. */
export interface ScheduleView extends Omit<Plan, 'input'> {
  /** The schedule's own run. */
  runId: string
  isPaused: boolean
  /** Absent while it is paused, and when its plan has no time left. */
  nextDue?: number
  started: number
  skipped: number
  /** What went wrong with the last run, or with the schedule itself; absent when nothing did. */
  lastError?: { at?: number; message: string }
}

/** Lists and steers schedules with either client, and brings those in the store in line with those in the code. */
export class Schedules {
  private readonly client: ScheduleClient

  constructor(client: ScheduleClient) {
    this.client = client
  }

  /**
   * Starts schedules that are new, or whose run has ended; tells others of a new plan; and ends those that
   * the code no longer has. Rejects with an AggregateError that names those that could not be brought in
   * line, once all others were.
   */
  async sync(schedules: readonly Schedule[]): Promise<void> {
    if (!isInProcess(this.client))
      throw new InvalidInputError(
        'schedules are taken up by the process that has their code; over HTTP they can be listed and steered',
      )
    await new ScheduleSync(this.client).run(schedules)
  }

  /** By name. */
  list(): Promise<ScheduleView[]> {
    return this.client.listSchedules()
  }

  pause(name: string, options?: RepeatOptions): Promise<void> {
    return this.client.pauseSchedule(name, options)
  }

  resume(name: string, options?: RepeatOptions): Promise<void> {
    return this.client.resumeSchedule(name, options)
  }

  /** Starts a run now, whatever the plan says. */
  trigger(name: string, options?: RepeatOptions): Promise<void> {
    return this.client.triggerSchedule(name, options)
  }
}

function isInProcess(client: ScheduleClient): client is Client {
  return 'world' in client
}

export async function listSchedules({ world }: Client): Promise<ScheduleView[]> {
  const records = await new ScheduleRecords(world).active()
  return Promise.all(
    records.map(async (record) => toView(record, await world.store.get(record.runId), world.clock.now())),
  )
}

export async function steerSchedule(
  client: Client,
  name: string,
  action: 'pause' | 'resume' | 'trigger',
  options?: RepeatOptions,
): Promise<void> {
  const records = new ScheduleRecords(client.world)
  const record = (await records.get(name))?.value
  if (record?.phase !== 'active') {
    const known = (await records.active()).map(({ plan }) => plan.name)
    throw new RunNotFoundError(`no schedule '${name}'; known: ${known.join(', ') || 'none'}`)
  }
  await client.signal(record.runId, control, { action }, options).catch((error: unknown) => {
    if (!(error instanceof RunNotFoundError || error instanceof ConflictError)) throw error
    throw new ConflictError(
      `schedule '${name}' cannot be steered now: ${error.message}. The next sync starts another run ` +
        `for it; try again then`,
    )
  })
}

function toView(record: ScheduleRecord, run: RunRecord | undefined, now: number): ScheduleView {
  const state: ScheduleState & { nextDue?: number } = run
    ? stateOf(run)
    : { plan: record.plan, isPaused: false, started: 0, skipped: 0, ...record.inherited }
  const { plan, isPaused, started, skipped, lastDue } = state
  const { input: _, ...shown } = plan
  const nextDue = isPaused ? undefined : (state.nextDue ?? nextTime(plan, Math.max(lastDue ?? now, now)))
  const lastError = troubleOf(record, run) ?? state.lastError
  return {
    ...shown,
    runId: record.runId,
    isPaused,
    started,
    skipped,
    ...(nextDue !== undefined && { nextDue }),
    ...(lastError && { lastError }),
  }
}

/** Why the schedule does not go at all. */
function troubleOf({ runId }: ScheduleRecord, run: RunRecord | undefined): ScheduleView['lastError'] {
  if (!run) return { message: `its own run '${runId}' is not there yet; the next sync starts it` }
  if (run.status === 'stuck') return { message: `its own run '${runId}' is stuck: ${run.error?.message}` }
  return hasEnded(run.status)
    ? { at: run.endedAt, message: `its own run '${runId}' ended (${run.status}); the next sync starts another` }
    : undefined
}
