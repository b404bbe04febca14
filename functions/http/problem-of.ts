import {
  ConflictError,
  GoneError,
  InvalidInputError,
  LimitNotFoundError,
  MisfitError,
  RunNotFoundError,
  UnknownSignalError,
  UnknownWorkflowError,
} from '../../sdk/index.ts'
import { HttpProblem } from './problem.ts'

const DEFAULT_RETRY_AFTER_S = 1

/** How AWS services say "slower, please", each in its own words. */
const THROTTLED = new Set([
  'ThrottlingException',
  'ThrottledException',
  'Throttling',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'TooManyRequestsException',
  'LimitExceededException',
  'SlowDown',
])

const UNAVAILABLE = new Set([
  'LocalFileError',
  'ServiceUnavailable',
  'ServiceUnavailableException',
  'InternalServerError',
  'InternalServerErrorException',
  'ServiceException',
])

/** SQLITE_BUSY and SQLITE_LOCKED: another process holds the file. */
const SQLITE_BUSY = new Set([5, 6])

/** The problem that a thrown error stands for; undefined for an error that is not about the request. */
export function problemOf(error: unknown, knownWorkflows: () => string[]): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error
  if (error instanceof MisfitError)
    return new HttpProblem('misfit', error.message.split('\n')[0]!, { problems: error.problems })
  if (error instanceof GoneError) return new HttpProblem('gone', error.message)
  if (error instanceof InvalidInputError) return invalidInput(error)
  if (error instanceof UnknownWorkflowError)
    return new HttpProblem('unknown-workflow', error.message, { known: knownWorkflows() })
  if (error instanceof UnknownSignalError)
    return new HttpProblem('unknown-signal', error.message, { known: error.known })
  if (error instanceof RunNotFoundError) return new HttpProblem('unknown-run', error.message)
  if (error instanceof LimitNotFoundError) return new HttpProblem('unknown-limit', error.message)
  if (error instanceof ConflictError) return new HttpProblem('conflict', error.message)
  return busy(error)
}

function invalidInput(error: InvalidInputError): HttpProblem {
  // With problems, the message repeats them line by line under its first one.
  if (error.problems.length > 0)
    return new HttpProblem('invalid-input', error.message.split('\n')[0]!, { problems: error.problems })
  return new HttpProblem('invalid-input', error.message, { problems: [{ path: '$', message: error.message }] })
}

function busy(error: unknown): HttpProblem | undefined {
  if (!(error instanceof Error)) return undefined
  const { retryAfter, errcode, $retryable } = error as {
    retryAfter?: unknown
    errcode?: unknown
    $retryable?: { throttling?: boolean }
  }
  const seconds = typeof retryAfter === 'number' && retryAfter >= 0 ? Math.ceil(retryAfter) : DEFAULT_RETRY_AFTER_S
  const headers = { 'retry-after': String(seconds) }
  if (THROTTLED.has(error.name) || $retryable?.throttling)
    return new HttpProblem('throttled', 'the service is at its limit; try again a little later', { headers })
  if (UNAVAILABLE.has(error.name) || typeof retryAfter === 'number' || SQLITE_BUSY.has(errcode as number)) {
    return new HttpProblem('unavailable', 'the database cannot answer right now; try again a little later', { headers })
  }
  return undefined
}
