import type { ErrorRecord } from './events.ts'

/**
 * Errors a user has to learn: `FatalError` (never retried) and `RetryableError` (retried, optionally
 * after a given time). Everything else here says what happened and is thrown by Overwinter itself.
 */
export class FatalError extends Error {
  override name = 'FatalError'
}

export class RetryableError extends Error {
  override name = 'RetryableError'
  /** How long to wait before the next attempt; the retry policy decides when it is absent. */
  readonly after: DurationLike | undefined

  constructor(message: string, options: ErrorOptions & { after?: DurationLike } = {}) {
    super(message, options)
    this.after = options.after
  }
}

type DurationLike = import('./duration.ts').Duration

/** The caller gave something that cannot be accepted. Nothing was written. */
export class InvalidInputError extends FatalError {
  override name = 'InvalidInputError'
  readonly problems: readonly Problem[]

  constructor(message: string, problems: readonly Problem[] = []) {
    super(problems.length === 0 ? message : `${message}\n${problems.map((p) => `  ${p.path}: ${p.message}`).join('\n')}`)
    this.problems = problems
  }
}

export interface Problem {
  /** A JSON path such as `$.items[2].price`. */
  path: string
  message: string
}

/** A step gave up: its `cause` is the last attempt's error. */
export class StepError extends Error {
  override name = 'StepError'
  readonly step: string
  readonly attempts: number

  constructor(step: string, attempts: number, cause: Error) {
    super(`step '${step}' failed after ${attempts} attempt${attempts === 1 ? '' : 's'}: ${cause.message}`, { cause })
    this.step = step
    this.attempts = attempts
  }
}

/** An at-most-once step was under way when its runner died: whether its effect happened is unknown. */
export class StepInterruptedError extends FatalError {
  override name = 'StepInterruptedError'
}

/** A child run did not complete: its `cause` is the error it ended with. */
export class ChildRunError extends Error {
  override name = 'ChildRunError'
  readonly runId: string
  readonly status: string

  constructor(runId: string, status: string, cause?: Error) {
    super(`child run '${runId}' ${status}${cause ? `: ${cause.message}` : ''}`, cause ? { cause } : {})
    this.runId = runId
    this.status = status
  }
}

export class TimeoutError extends Error {
  override name = 'TimeoutError'
}

export class CancelledError extends FatalError {
  override name = 'CancelledError'
}

/** The code no longer asks for what the journal recorded. The run is parked, not failed. */
export class NonDeterminismError extends FatalError {
  override name = 'NonDeterminismError'
}

/** Workflow code awaited something that no replay can repeat. The run is parked, not failed. */
export class ForeignAwaitError extends FatalError {
  override name = 'ForeignAwaitError'
}

/** `ctx` was used where it cannot work: in a step's body, or after its run ended. */
export class MisplacedCallError extends FatalError {
  override name = 'MisplacedCallError'
}

export class UnknownWorkflowError extends FatalError {
  override name = 'UnknownWorkflowError'
}

export class RunNotFoundError extends FatalError {
  override name = 'RunNotFoundError'
}

/** The request contradicts what is already there: another input under the same id, a run that ended. */
export class ConflictError extends FatalError {
  override name = 'ConflictError'
}

/** The run ended otherwise than `completed`, or is stuck; thrown by `result()`. */
export class RunFailedError extends FatalError {
  override name = 'RunFailedError'
  readonly runId: string
  readonly status: string

  constructor(runId: string, status: string, cause?: Error) {
    super(`run '${runId}' ${status === 'stuck' ? 'is stuck' : status}${cause ? `: ${cause.message}` : ''}`, cause ? { cause } : {})
    this.runId = runId
    this.status = status
  }
}

const REVIVED: Record<string, new (message: string) => Error> = {
  FatalError,
  RetryableError,
  InvalidInputError,
  StepInterruptedError,
  TimeoutError,
  CancelledError,
  MisplacedCallError,
  UnknownWorkflowError,
  ConflictError,
  TypeError,
  RangeError,
}

/** How deep a chain of causes is recorded. */
const CAUSE_DEPTH = 5

export function recordError(thrown: unknown, depth = 0): ErrorRecord {
  if (!(thrown instanceof Error)) {
    return { name: 'Error', message: typeof thrown === 'string' ? thrown : `a value that is not an Error was thrown: ${preview(thrown)}` }
  }
  const record: ErrorRecord = { name: thrown.name, message: thrown.message }
  // A stack helps with the user's own errors; ours say everything in their message.
  if (thrown.stack !== undefined && (REVIVED[thrown.name] === undefined || thrown.name.endsWith('ableError') || thrown.name === 'FatalError'))
    record.stack = thrown.stack
  const details = thrown as { code?: unknown; step?: unknown; attempts?: unknown; runId?: unknown; status?: unknown }
  if (typeof details.code === 'string' || typeof details.code === 'number') record.code = details.code
  if (thrown instanceof StepError) Object.assign(record, { step: thrown.step, attempts: thrown.attempts })
  if (thrown instanceof ChildRunError) Object.assign(record, { runId: thrown.runId, status: thrown.status })
  if (thrown.cause !== undefined && depth < CAUSE_DEPTH) record.cause = recordError(thrown.cause, depth + 1)
  return record
}

/** The live run and every replay must see the same error, so both see the one revived from its record. */
export function reviveError(record: ErrorRecord): Error {
  const cause = record.cause === undefined ? undefined : reviveError(record.cause)
  let error: Error
  if (record.name === 'StepError' && record.step !== undefined && cause) error = new StepError(record.step, record.attempts ?? 1, cause)
  else if (record.name === 'ChildRunError' && record.runId !== undefined) error = new ChildRunError(record.runId, record.status ?? 'failed', cause)
  else {
    const Type = REVIVED[record.name] ?? Error
    error = new Type(record.message)
    if (error.name !== record.name) error.name = record.name
    if (cause) error.cause = cause
  }
  if (record.code !== undefined) Object.assign(error, { code: record.code })
  if (record.stack !== undefined) error.stack = record.stack
  return error
}

function preview(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, 200)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
