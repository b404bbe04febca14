import type { RunRecord } from '../ports/run.ts'
import { asWritten } from '../views/as-written.ts'
import { listed, type Problem } from './problem.ts'

export type { Problem } from './problem.ts'

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

  /** All users of this limit wait that long, not only this step: the service behind the limit has asked for it. */
  declare readonly limit: Limit | undefined

  constructor(message: string, options: ErrorOptions & { after?: DurationLike; limit?: Limit } = {}) {
    super(message, options)
    this.after = options.after
    // The runner reads it. It is no part of what is recorded of the error.
    Object.defineProperty(this, 'limit', { value: options.limit, enumerable: false })
  }
}

type DurationLike = import('./duration.ts').Duration
type Limit = import('../flow/limiter/limit.ts').Limit

/** The caller gave something that cannot be accepted. Nothing was written. */
export class InvalidInputError extends FatalError {
  override name = 'InvalidInputError'
  readonly problems: readonly Problem[]

  constructor(message: string, problems: readonly Problem[] = []) {
    const shown = listed(problems)
    super(shown.length === 0 ? message : `${message}\n${shown.map((p) => `  ${p.path}: ${p.message}`).join('\n')}`)
    this.problems = shown
  }
}

/** What was sent to a run does not fit what the run asked for. Nothing was written, and the run waits on. */
export class MisfitError extends InvalidInputError {
  override name = 'MisfitError'
}

/** A step failed for good: its `cause` is the last attempt's error. */
export class StepError extends Error {
  override name = 'StepError'
  readonly step: string
  readonly attempts: number

  constructor(step: string, attempts: number, cause: Error) {
    const how = attempts === 0 ? 'could not begin' : `failed after ${attempts} attempt${attempts === 1 ? '' : 's'}`
    super(`step '${asWritten(step)}' ${how}: ${cause.message}`, { cause })
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

/**
 * The code does not fit the journal: what was expected, what came, where, and what to do. Whether the code has
 * changed is not known here.
 */
export function mismatch(
  run: Pick<RunRecord, 'id' | 'workflow' | 'version'>,
  expected: string,
  got: string,
  where: string,
): NonDeterminismError {
  return new NonDeterminismError(
    `the code of workflow '${run.workflow}' (version ${run.version}) does not fit the history of run ` +
      `'${run.id}': after ${where}, ${expected}, but ${got}. ` +
      "To go on, a run's code is run again from its start and must ask for the same as before. The run is " +
      'stuck, and nothing is lost. ' +
      'If the code was changed, put back the old order for runs under way (give the changed code a new ' +
      'version, or guard it with ctx.patched). ' +
      'If it was not, it asks for something else each time: take the time from ctx.now() instead of ' +
      'Date.now, chance from ctx.random() or ctx.uuid() ' +
      `instead of Math.random, and read everything else that may differ in a ctx.step. Then deploy and retry the run`,
  )
}

/** Workflow code awaited something that no replay can repeat. The run is parked, not failed. */
export class ForeignAwaitError extends FatalError {
  override name = 'ForeignAwaitError'
}

const WHY_FOREIGN =
  'Only what goes through ctx is recorded, and only that can be repeated when the run goes on later or ' +
  'elsewhere. So the run is stuck, and nothing is lost.'

/** The code waits, and there is nothing of ours that it could wait for. */
export function foreignAwait({ workflow }: Pick<RunRecord, 'workflow'>, after: string): ForeignAwaitError {
  return new ForeignAwaitError(
    `workflow '${workflow}' awaits something that is not a ctx operation (a fetch, a timer, a promise ` +
      `that is never settled), after ${after}. ${WHY_FOREIGN} Move it into a ctx.step, or wait with ctx.sleep or ` +
      'ctx.waitFor, deploy, and retry the run',
  )
}

/** The code calls for something after it has waited for nothing of ours. */
export function foreignCall({ workflow }: Pick<RunRecord, 'workflow'>, what: string, after: string): ForeignAwaitError {
  return new ForeignAwaitError(
    `workflow '${workflow}' called ${what} after it had awaited something that is not a ctx operation (a ` +
      `fetch, a timer, a file), somewhere after ${after}. ${WHY_FOREIGN} Move it into a ctx.step, deploy, ` +
      'and retry the run',
  )
}

/** `ctx` was used where it cannot work: in a step's body, or after its run ended. */
export class MisplacedCallError extends FatalError {
  override name = 'MisplacedCallError'
}

export class UnknownWorkflowError extends FatalError {
  override name = 'UnknownWorkflowError'
}

/** The workflow says which signals it waits for, and this is none of them. Nothing was written. */
export class UnknownSignalError extends FatalError {
  override name = 'UnknownSignalError'
  readonly known: readonly string[]

  constructor(message: string, known: readonly string[]) {
    super(message)
    this.known = known
  }
}

export class LimitNotFoundError extends FatalError {
  override name = 'LimitNotFoundError'
}

export class RunNotFoundError extends FatalError {
  override name = 'RunNotFoundError'
}

/** The run would not do what it was asked for: its `cause` says why. */
export class RequestRefusedError extends FatalError {
  override name = 'RequestRefusedError'
}

/** The request contradicts what is already there: another input under the same id, a run that ended. */
export class ConflictError extends FatalError {
  override name = 'ConflictError'
}

/** What was asked for is over and will not come back. The message says what happened. */
export class GoneError extends FatalError {
  override name = 'GoneError'
}

/** The run ended otherwise than `completed`, or is stuck; thrown by `result()`. */
export class RunFailedError extends FatalError {
  override name = 'RunFailedError'
  readonly runId: string
  readonly status: string

  constructor(runId: string, status: string, cause?: Error) {
    super(
      `run '${runId}' ${status === 'stuck' ? 'is stuck' : status}${cause ? `: ${cause.message}` : ''}`,
      cause ? { cause } : {},
    )
    this.runId = runId
    this.status = status
  }
}
