import type { LogSink } from '../sdk/ports/world.ts'
import type { Thresholds } from '../sdk/worlds/aws/context.ts'
import { AwsWorld } from '../sdk/worlds/aws/world.ts'
import { METRIC, metrics } from './metrics.ts'
import { readTaskQueues } from './task-queue-names.ts'

/**
 * The variables that the construct sets for its functions. Each function gets every name, because a name
 * gives no permission; a function's role says what it may do.
 */
export interface Environment {
  OVERWINTER_TABLE: string
  OVERWINTER_BUCKET: string
  OVERWINTER_QUEUE_URL: string
  OVERWINTER_QUEUE_ARN: string
  OVERWINTER_SCHEDULER_GROUP: string
  OVERWINTER_SCHEDULER_ROLE_ARN: string
  /** JSON of `Partial<Thresholds>`, so that tests need not wait a quarter of an hour for a schedule. */
  OVERWINTER_THRESHOLDS?: string
  OVERWINTER_LEASE_MS?: string
  OVERWINTER_MAX_ATTEMPTS?: string
  /** The queue of each type of task, as `writeTaskQueues` writes it. */
  OVERWINTER_TASK_QUEUES?: string
  /** The name of the runner's function; only for the API, which hands it runs that a caller waits for. */
  OVERWINTER_RUNNER?: string
  /** Where the runner logs; only for the API, which links to it. */
  OVERWINTER_RUNNER_LOG?: string
  /** JSON of `SecretPlaces`; only for the runner. */
  OVERWINTER_SECRETS?: string
  /** Where callbacks can be answered from outside; unset if they cannot. */
  OVERWINTER_PUBLIC_URL?: string
  /** Workflows with metrics of their own, one per line; only for the runner. */
  OVERWINTER_COUNTED_WORKFLOWS?: string
  /** The value of `startPaused`; only for the runner, the API and the schedules function. */
  OVERWINTER_START_PAUSED?: string
  /** Only set with lifecycle events. */
  OVERWINTER_EVENT_BUS?: string
  /** JSON of `Subscription`; only for a subscription's function, like the next. */
  OVERWINTER_SUBSCRIPTION?: string
  OVERWINTER_EVENT_DEAD_LETTERS_URL?: string
  /** Only set if a token opens the API. */
  OVERWINTER_TOKEN_SECRET?: string
  /** Set then too: the secrets that were made for grants. */
  OVERWINTER_START_SECRET?: string
  OVERWINTER_READ_SECRET?: string
  OVERWINTER_OPERATE_SECRET?: string
  /**
   * How callers are limited: by the token authorizer, by the claims of a JWT, or by IAM paths. Unset if a JWT
   * opens everything.
   */
  OVERWINTER_SCOPES?: 'token' | 'jwt' | 'iam'
  /** JSON of `AllowedBrowsers`; only behind a REST API, which adds no CORS headers itself. */
  OVERWINTER_CORS?: string
}

export function setting(name: keyof Environment): string {
  const value = process.env[name]
  if (!value) throw new Error(`the environment variable ${name} is missing; the construct sets it`)
  return value
}

/** A dead runner is noticed after this long. The run loop renews the lease, so a step may take longer. */
const LEASE_MS = 30_000

/** How many runners in a row may die while they run the same run. */
export const mostDeaths = Number(process.env.OVERWINTER_MAX_ATTEMPTS ?? 5)

export const leaseMs = Number(process.env.OVERWINTER_LEASE_MS ?? LEASE_MS)

/** An object, not text: Lambda's JSON log format makes its fields searchable. */
export const log: LogSink = (level, message, fields) => console[level]({ message, ...fields })

export function awsWorld(sink: LogSink = log): AwsWorld {
  return new AwsWorld({
    table: setting('OVERWINTER_TABLE'),
    bucket: setting('OVERWINTER_BUCKET'),
    queueUrl: setting('OVERWINTER_QUEUE_URL'),
    queueArn: setting('OVERWINTER_QUEUE_ARN'),
    schedulerGroup: setting('OVERWINTER_SCHEDULER_GROUP'),
    schedulerRoleArn: setting('OVERWINTER_SCHEDULER_ROLE_ARN'),
    ...(process.env.OVERWINTER_RUNNER !== undefined && { runner: process.env.OVERWINTER_RUNNER }),
    taskQueues: readTaskQueues(process.env.OVERWINTER_TASK_QUEUES ?? '', setting('OVERWINTER_QUEUE_URL')),
    thresholds: JSON.parse(process.env.OVERWINTER_THRESHOLDS ?? '{}') as Partial<Thresholds>,
    publicUrl: process.env.OVERWINTER_PUBLIC_URL,
    onRefusedSchedule: () => metrics.add(METRIC.schedulerRefusals, 'Count', 1),
    log: sink,
  })
}
