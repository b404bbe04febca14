import {
  CancelledError,
  ChildRunError,
  ConflictError,
  FatalError,
  InvalidInputError,
  MisplacedCallError,
  RetryableError,
  StepError,
  StepInterruptedError,
  TimeoutError,
  UnknownWorkflowError,
} from './errors.ts'
import type { ErrorRecord } from './events.ts'
import type { Json } from './json.ts'
import { usersFrames } from './stacks.ts'
import { CODED, decode, decodeUncoded, encodeIfPossible, isCoded } from './values.ts'

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

/**
 * Errors that users throw themselves. Of these, and of those we do not know, the stack helps; ours say everything
 * in their message.
 */
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
      `a value that is not an Error was thrown: ${preview(thrown)}. Throw an Error, which knows the line ` +
        "it comes from: throw new Error('…')",
    )
    return typeof thrown === 'object' && thrown !== null ? Object.assign(error, fieldsOf(thrown)) : error
  } catch {
    return new Error(
      'a value was thrown that cannot be looked at. Throw an Error, which knows the line it comes from: ' +
        "throw new Error('…')",
    )
  }
}

export function recordError(thrown: unknown): ErrorRecord {
  try {
    return record(asError(thrown), 0)
  } catch (error) {
    return {
      name: 'Error',
      message:
        'an error was thrown that cannot be recorded: ' +
        `${error instanceof Error ? error.message : 'it does not say why'}`,
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

/**
 * Fields that are recorded under names of their own, and fields that carry whole requests, whose headers may hold
 * secrets.
 */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...['name', 'message', 'stack', 'cause', 'code', 'errors', 'after', 'problems'],
  ...['config', 'request', 'response', 'options', 'headers', 'socket'],
])

/** Other fields that were put on an error, as far as JSON can hold them. */
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
