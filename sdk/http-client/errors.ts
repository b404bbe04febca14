import { reviveError } from '../base/error-records.ts'
import {
  ConflictError,
  GoneError,
  InvalidInputError,
  LimitNotFoundError,
  MisfitError,
  RequestRefusedError,
  RunNotFoundError,
  UnknownSignalError,
  UnknownWorkflowError,
} from '../base/errors.ts'
import type { ProblemJson } from '../http-api/errors.ts'
import { PROBLEM_BASE } from '../http-api/terms.ts'

/** An answer that has no error class of its own: not authorized, too large, throttled, a fault of the server. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: number
  /** The problem's type URI, where the answer was a problem. */
  readonly type: string | undefined

  constructor(status: number, message: string, type?: string) {
    super(message)
    this.status = status
    this.type = type
  }
}

const REVIVED: Record<string, (problem: ProblemJson) => Error> = {
  // A lone problem that repeats the detail would be printed twice.
  'invalid-input': ({ detail, problems }) =>
    new InvalidInputError(detail, problems?.filter(({ message }) => message !== detail).map(fromTheBody)),
  misfit: ({ detail, problems }) => new MisfitError(detail, problems),
  gone: ({ detail }) => new GoneError(detail),
  'unknown-run': ({ detail }) => new RunNotFoundError(detail),
  'unknown-schedule': ({ detail }) => new RunNotFoundError(detail),
  'unknown-limit': ({ detail }) => new LimitNotFoundError(detail),
  'unknown-definition': ({ detail }) => new UnknownWorkflowError(detail),
  'unknown-signal': ({ detail, known }) => new UnknownSignalError(detail, known ?? []),
  'unknown-workflow': ({ detail }) => new UnknownWorkflowError(detail),
  conflict: ({ detail }) => new ConflictError(detail),
  refused: ({ detail, error }) => new RequestRefusedError(detail, error && { cause: reviveError(error) }),
}

/** The error that the in-process client would have thrown. */
export function errorFrom(status: number, text: string): Error {
  const problem = readProblem(text)
  if (!problem)
    return new HttpError(status, `the server answered ${status}${text === '' ? '' : `: ${text.slice(0, 200)}`}`)
  const kind = problem.type.startsWith(PROBLEM_BASE) ? problem.type.slice(PROBLEM_BASE.length) : ''
  return REVIVED[kind]?.(problem) ?? new HttpError(status, `${problem.title}: ${problem.detail}`, problem.type)
}

/** The server speaks of the body, in which the input has a place; the caller passed the input itself. */
function fromTheBody({ path, message }: { path: string; message: string }): { path: string; message: string } {
  return { path: path.replace(/^\$\.input(?![\w$])/, '$'), message }
}

function readProblem(text: string): ProblemJson | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'type' in value && 'detail' in value
      ? (value as ProblemJson)
      : undefined
  } catch {
    // A gateway in between answers in its own words.
    return undefined
  }
}
