import type { RunRecord } from '../ports/run.ts'
import { asWritten } from '../views/as-written.ts'
import type { ErrorRecord } from './events.ts'
import type { Json } from './json.ts'
import { listed, type Problem } from './problem.ts'
import { usersFrames } from './stacks.ts'
import { CODED, decode, decodeUncoded, encodeIfPossible, isCoded } from './values.ts'

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

  /** Everybody who uses this limit is to wait that long, not only this step: the service behind it has said so. */
  declare readonly limit: Limit | undefined

  constructor(message: string, options: ErrorOptions & { after?: DurationLike; limit?: Limit } = {}) {
    super(message, options)
    this.after = options.after
    // It is for whoever runs the step, and no part of what is recorded of the error.
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
    const told = listed(problems)
    super(told.length === 0 ? message : `${message}\n${told.map((p) => `  ${p.path}: ${p.message}`).join('\n')}`)
    this.problems = told
  }
}

/** What was sent to a run does not fit what the run asked for. Nothing was written, and the run waits on. */
export class MisfitError extends InvalidInputError {
  override name = 'MisfitError'
}

/** A step gave up: its `cause` is the last attempt's error. */
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

/** The code of today does not fit what was journaled: what was expected, what came, where, and what to do. Whether the code has changed, nobody knows here. */
export function mismatch(
  run: Pick<RunRecord, 'id' | 'workflow' | 'version'>,
  expected: string,
  got: string,
  where: string,
): NonDeterminismError {
  return new NonDeterminismError(
    `the code of workflow '${run.workflow}' (version ${run.version}) does not fit the history of run '${run.id}': after ${where}, ${expected}, but ${got}. ` +
      `To go on, a run's code is run again from its start and must ask for the same as before. The run is stuck, and nothing is lost. ` +
      `If the code was changed, put back the old order for runs under way (give the changed code a new version, or guard it with ctx.patched). ` +
      `If it was not, it asks for something else each time: take the time from ctx.now() instead of Date.now, chance from ctx.random() or ctx.uuid() ` +
      `instead of Math.random, and read everything else that may differ in a ctx.step. Then deploy and retry the run`,
  )
}

/** Workflow code awaited something that no replay can repeat. The run is parked, not failed. */
export class ForeignAwaitError extends FatalError {
  override name = 'ForeignAwaitError'
}

const WHY_FOREIGN =
  'Only what goes through ctx is recorded, and only that can be repeated when the run goes on later or elsewhere. So the run is stuck, and nothing is lost.'

/** The code waits, and there is nothing of ours that it could wait for. */
export function foreignAwait({ workflow }: Pick<RunRecord, 'workflow'>, after: string): ForeignAwaitError {
  return new ForeignAwaitError(
    `workflow '${workflow}' awaits something that is not a ctx operation (a fetch, a timer, a promise nobody settles), after ${after}. ${WHY_FOREIGN} Move it into a ctx.step, or wait with ctx.sleep or ctx.waitFor, deploy, and retry the run`,
  )
}

/** The code calls for something after it has waited for nothing of ours. */
export function foreignCall({ workflow }: Pick<RunRecord, 'workflow'>, what: string, after: string): ForeignAwaitError {
  return new ForeignAwaitError(
    `workflow '${workflow}' called ${what} after it had awaited something that is not a ctx operation (a fetch, a timer, a file), somewhere after ${after}. ${WHY_FOREIGN} Move it into a ctx.step, deploy, and retry the run`,
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

/** By name, and in a Map: a name such as `constructor` or `__proto__` is a name like any other. */
const REVIVED: ReadonlyMap<string, new (message: string) => Error> = new Map<string, new (message: string) => Error>([
  ['FatalError', FatalError],
  ['RetryableError', RetryableError],
  ['InvalidInputError', InvalidInputError],
  ['StepInterruptedError', StepInterruptedError],
  ['TimeoutError', TimeoutError],
  ['CancelledError', CancelledError],
  ['MisplacedCallError', MisplacedCallError],
  ['UnknownWorkflowError', UnknownWorkflowError],
  ['ConflictError', ConflictError],
  ['TypeError', TypeError],
  ['RangeError', RangeError],
])

/** Errors that users throw themselves. Of these, and of those we do not know, the stack helps; ours say everything in their message. */
const THROWN_BY_USERS: ReadonlySet<string> = new Set(['FatalError', 'RetryableError', 'TypeError', 'RangeError'])

/** How many errors of a chain of causes are recorded, beside the one it began with. */
const CAUSE_DEPTH = 8
const MOST_ERRORS = 20
/** A message is for people. */
const MOST_TEXT = 65_536
/** What an error carries beside its message is for people; a whole response body is not. */
const MOST_FIELD_BYTES = 8_192

/** Whatever was thrown, as an error. Never throws itself, whatever it is given. */
export function asError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown
    if (typeof thrown === 'string') return new Error(thrown)
    const error = new Error(
      `a value that is not an Error was thrown: ${preview(thrown)}. Throw an Error, which knows the line it comes from: throw new Error('…')`,
    )
    return typeof thrown === 'object' && thrown !== null ? Object.assign(error, fieldsOf(thrown)) : error
  } catch {
    return new Error(
      "a value was thrown that cannot be looked at. Throw an Error, which knows the line it comes from: throw new Error('…')",
    )
  }
}

export function recordError(thrown: unknown): ErrorRecord {
  try {
    return record(asError(thrown), 0)
  } catch (error) {
    return {
      name: 'Error',
      message: `an error was thrown that cannot be recorded: ${error instanceof Error ? error.message : 'it does not say why'}`,
    }
  }
}

function record(error: Error, depth: number): ErrorRecord {
  const kept: ErrorRecord = {
    name: String(error.name).slice(0, 200),
    message: String(error.message).slice(0, MOST_TEXT),
  }
  if (typeof error.stack === 'string' && (!REVIVED.has(kept.name) || THROWN_BY_USERS.has(kept.name)))
    kept.stack = usersFrames(error.stack).slice(0, MOST_TEXT)
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' || typeof code === 'number') kept.code = code
  if (error instanceof StepError) Object.assign(kept, { step: error.step, attempts: error.attempts })
  else if (error instanceof ChildRunError) Object.assign(kept, { runId: error.runId, status: error.status })
  else {
    const fields = fieldsOf(error)
    if (Object.keys(fields).length > 0) kept.fields = fields
  }
  if (error instanceof AggregateError && depth < CAUSE_DEPTH)
    kept.errors = error.errors.slice(0, MOST_ERRORS).map((each) => record(asError(each), depth + 1))
  // The root of a chain that goes in a circle has a cause itself.
  if (error.cause !== undefined && depth <= CAUSE_DEPTH)
    kept.cause = record(asError(depth < CAUSE_DEPTH ? error.cause : rootOf(error.cause)), depth + 1)
  return kept
}

/** The error a chain of causes began with. */
function rootOf(cause: unknown): unknown {
  const seen = new Set<unknown>()
  let root = cause
  while (root instanceof Error && root.cause !== undefined && !seen.has(root)) {
    seen.add(root)
    root = root.cause
  }
  return root
}

/** Kept under names of their own; or carriers of whole requests, whose headers are nobody's business. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...['name', 'message', 'stack', 'cause', 'code', 'errors', 'after', 'problems'],
  ...['config', 'request', 'response', 'options', 'headers', 'socket'],
])

/** What somebody has put on an error, as far as JSON can hold it. */
function fieldsOf(thrown: object): { [key: string]: Json } {
  const fields: [string, Json][] = []
  let bytes = 0
  for (const key of Object.keys(thrown)) {
    // The last is where a codec keeps all of them.
    if (LEFT_OUT.has(key) || key === CODED) continue
    try {
      const value = (thrown as Record<string, unknown>)[key]
      // What has a class is still worth its JSON.
      const kept = encodeIfPossible(value) ?? encodeIfPossible(JSON.parse(JSON.stringify(value)))
      if (kept?.json === undefined || (bytes += JSON.stringify(kept.json).length) > MOST_FIELD_BYTES) continue
      fields.push([key, kept.json])
    } catch {
      // A getter that throws, a circle: the error is worth more than this field of it.
    }
  }
  return Object.fromEntries(fields)
}

/** The live run and every replay must see the same error, so both see the one revived from its record. */
export function reviveError(kept: ErrorRecord): Error {
  const cause = kept.cause === undefined ? undefined : reviveError(kept.cause)
  const error = revived(kept, cause)
  // It says what is missing.
  if (isCoded(kept.fields)) decode(kept.fields)
  for (const [key, value] of Object.entries(kept.fields ?? {})) {
    Object.defineProperty(error, key, {
      value: decodeUncoded(value),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  if (kept.code !== undefined) Object.assign(error, { code: kept.code })
  if (kept.stack !== undefined) error.stack = kept.stack
  return error
}

function revived(kept: ErrorRecord, cause: Error | undefined): Error {
  if (kept.name === 'StepError' && kept.step !== undefined && cause)
    return new StepError(kept.step, kept.attempts ?? 1, cause)
  if (kept.name === 'ChildRunError' && kept.runId !== undefined)
    return new ChildRunError(kept.runId, kept.status ?? 'failed', cause)
  const Type = REVIVED.get(kept.name) ?? Error
  const error = kept.errors ? new AggregateError(kept.errors.map(reviveError), kept.message) : new Type(kept.message)
  if (error.name !== kept.name) error.name = kept.name
  if (cause) error.cause = cause
  return error
}

function preview(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, 200)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
