import type { Bill } from './meter.ts'

/** us-east-1, on demand, dollars per million. Lambda is left out everywhere: the same code runs in all three. */
const WRITE_UNIT = 0.625
const READ_UNIT = 0.125
const SQS_REQUEST = 0.4
const SCHEDULE = 1

/** Every message is sent, received and deleted, and Lambda's poller pays for the latter two as we do. */
const REQUESTS_PER_MESSAGE = 3

export function usdPerMillion({ writeUnits, readUnits, sqs, scheduler }: Bill): number {
  // A schedule that fires puts one more message into the queue.
  const messages = sqs + scheduler
  return (
    writeUnits * WRITE_UNIT +
    readUnits * READ_UNIT +
    messages * REQUESTS_PER_MESSAGE * SQS_REQUEST +
    scheduler * SCHEDULE
  )
}

/** The same run elsewhere. */
export interface Elsewhere {
  /** Lambda durable functions: one operation for the execution and one for each step and wait. */
  durableOperations: number
  /** What it writes there, in bytes: results, at the least. */
  bytesWritten: number
  /** Step Functions, standard: one transition into each state, and one to begin. */
  transitions: number
}

const DURABLE_OPERATION = 8
const DURABLE_GB_WRITTEN = 0.25
const TRANSITION = 25

export const durableUsdPerMillion = ({ durableOperations, bytesWritten }: Elsewhere): number =>
  durableOperations * DURABLE_OPERATION + ((bytesWritten * 1_000_000) / 1e9) * DURABLE_GB_WRITTEN

export const stepFunctionsUsdPerMillion = ({ transitions }: Elsewhere): number => transitions * TRANSITION

/** API Gateway's HTTP API, Lambda's requests, and a GB-second of Lambda on arm64. */
const API_REQUEST = 1
const INVOCATION = 0.2
const GB_SECOND = 13.3334

/** What requests to the API cost, in dollars, each with what it reads and how long its function is busy. */
export const usdOfRequests = (requests: number, readUnits: number, gbSecondsEach: number): number =>
  (readUnits * READ_UNIT + requests * (API_REQUEST + INVOCATION + gbSecondsEach * GB_SECOND)) / 1e6
