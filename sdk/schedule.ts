import { type Duration, milliseconds } from './base/duration.ts'
import { InvalidInputError } from './base/errors.ts'
import { checkName } from './base/names.ts'
import type { Giving } from './base/storable.ts'
import { encode } from './base/values.ts'
import { assertRuns, type Plan } from './scheduling/plan.ts'
import type { AnyWorkflow, Workflow } from './workflow.ts'

export { withSchedules } from './scheduling/schedule-workflow.ts'

export interface ScheduleOptions {
  /** Five or six fields, as in crontab. */
  cron?: string
  /** A fixed interval, counted from the last time. */
  every?: Duration
  /** An IANA name, for `cron`. Default UTC. Handles summer time. */
  timezone?: string
  /** What happens when the previous run has not ended: skip this one, queue it, or run both. Default `skip`. */
  overlap?: 'skip' | 'queue' | 'allow'
  /** After an outage, start a run for every missed time instead of one for all of them. Default false. */
  catchUp?: boolean
}

/** A workflow that starts at certain times. */
export interface Schedule {
  readonly name: string
  readonly workflow: AnyWorkflow
  readonly plan: Plan
}

export function schedule<I, O>(
  name: string,
  options: ScheduleOptions,
  target: Workflow<I, O>,
  ...[input]: Giving<I, never>
): Schedule {
  checkName('a schedule name', name)
  const what = `schedule '${name}'`
  const { cron, every, timezone = 'UTC', overlap = 'skip', catchUp = false } = options
  if ((cron === undefined) === (every === undefined)) throw new InvalidInputError(`${what}: give either cron or every`)
  const plan: Plan = {
    name,
    workflow: target.name,
    version: target.version,
    input: encode(input, `the input of ${what}`),
    timezone,
    overlap,
    catchUp,
    ...(cron !== undefined && { cron }),
    ...(every !== undefined && { everyMs: milliseconds(every, what) }),
  }
  try {
    assertRuns(plan)
  } catch (error) {
    throw new InvalidInputError(
      `${what}: ${cron ? `'${cron}' in time zone '${timezone}'` : 'its distance'} does not work: ` +
        (error as Error).message,
    )
  }
  return { name, workflow: target, plan }
}
