import { listed } from '../../sdk/base/problem.ts'
import type { ProblemJson } from '../../sdk/http-api/errors.ts'
import { PROBLEM_BASE } from '../../sdk/http-api/terms.ts'
import type { ErrorRecord, Problem } from '../../sdk/index.ts'

/** Every kind of refusal. The key is part of the `type` URI, so it never changes once released. */
export const PROBLEMS = {
  'invalid-input': { status: 400, title: 'The request is not valid' },
  'malformed-json': { status: 400, title: 'The body is not JSON' },
  unauthorized: { status: 401, title: 'Not authorized' },
  forbidden: { status: 403, title: 'Not allowed with this token' },
  'foreign-origin': { status: 403, title: 'Requests from other sites are refused' },
  'unknown-run': { status: 404, title: 'No such run' },
  'unknown-incident': { status: 404, title: 'No such incident' },
  'unknown-event': { status: 404, title: 'No such event' },
  'unknown-schedule': { status: 404, title: 'No such schedule' },
  'unknown-limit': { status: 404, title: 'No such limit' },
  'unknown-definition': { status: 404, title: 'No such definition' },
  'unknown-signal': { status: 404, title: 'No such signal' },
  'unknown-workflow': { status: 404, title: 'No such workflow' },
  'unknown-mapping': { status: 404, title: 'No such mapping' },
  'unknown-task': { status: 404, title: 'No such task in flight' },
  'unknown-token': { status: 404, title: 'No such token' },
  'unknown-route': { status: 404, title: 'No such resource' },
  'method-not-allowed': { status: 405, title: 'This resource does not take that method' },
  conflict: { status: 409, title: 'The request contradicts what is there' },
  refused: { status: 409, title: 'The run refused' },
  gone: { status: 410, title: 'It is over' },
  'too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'The body must be JSON' },
  misfit: { status: 422, title: 'It does not fit what the run asked for' },
  throttled: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong' },
  unavailable: { status: 503, title: 'Not available right now' },
} as const

export type ProblemKind = keyof typeof PROBLEMS

interface Extras {
  problems?: readonly Problem[]
  known?: readonly string[]
  error?: ErrorRecord
  headers?: Record<string, string>
}

/** Thrown by handlers; the app answers with it. */
export class HttpProblem extends Error {
  override name = 'HttpProblem'
  readonly kind: ProblemKind
  readonly extras: Extras

  constructor(kind: ProblemKind, detail: string, extras: Extras = {}) {
    super(detail)
    this.kind = kind
    this.extras = extras
  }

  get status(): number {
    return PROBLEMS[this.kind].status
  }

  toResponse(): Response {
    const { headers, problems, known, error } = this.extras
    const { status, title } = PROBLEMS[this.kind]
    const body: ProblemJson = { type: `${PROBLEM_BASE}${this.kind}`, title, status, detail: this.message }
    const shown = problems && listed(problems)
    return new Response(JSON.stringify({ ...body, problems: shown, known, error }), {
      status,
      headers: { 'content-type': 'application/problem+json', ...headers },
    })
  }
}
