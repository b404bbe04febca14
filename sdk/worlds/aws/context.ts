import { randomBytes } from 'node:crypto'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Clock, Wake } from '../../ports/world.ts'
import type { Payloads } from './payloads.ts'
import type { TaskQueues } from './task-queues.ts'

/** What every storage operation works with. */
export interface Aws {
  db: DynamoDBDocumentClient
  table: string
  clock: Clock
  payloads: Payloads
  thresholds: Thresholds
  /** Sends wake-ups. */
  wake(wakes: Wake[]): Promise<void>
  /** Cancels armed wake-ups that are no longer needed. */
  disarm(wakes: Wake[]): Promise<void>
  queues: TaskQueues
}

export interface Thresholds {
  /** Waits of at least this long are armed with EventBridge Scheduler, shorter ones with an SQS delay. */
  longWaitMs: number
  /** How long before its time a schedule fires: Scheduler is exact to a minute, SQS covers the rest to the second. */
  leadMs: number
  /** How late a run must be before the sweeper looks after it. */
  graceMs: number
  /** The first and the longest pause between two polls of `watch`. */
  pollMs: { first: number; most: number }
}

export const THRESHOLDS: Thresholds = {
  longWaitMs: 900_000,
  leadMs: 60_000,
  graceMs: 90_000,
  pollMs: { first: 250, most: 2_000 },
}

/** Marks a write as this call's own. Short, because every write stores one. */
export const newToken = (): string => randomBytes(9).toString('base64url')
