import type { Context } from 'hono'
import { type Duration, milliseconds } from '../../sdk/base/duration.ts'
import { pathStep } from '../../sdk/base/json.ts'
import { checkName } from '../../sdk/base/names.ts'
import { InvalidInputError, type Problem } from '../../sdk/index.ts'
import { HttpProblem } from './problem.ts'

/** API Gateway gives a function this long: 29 seconds in a REST API, and 30 in an HTTP API. */
export const GATEWAY_TIMEOUT_MS = 29_000
/** What is left is for the rest of the request, and for a function that has to start first. */
export const LONGEST_WAIT_MS = GATEWAY_TIMEOUT_MS - 4_000

export const LONGEST_REASON = 1_000

/** Collects what is wrong with a request, so that a caller can mend all of it at once. */
export class Checks {
  readonly problems: Problem[] = []

  /** `test` throws an InvalidInputError when it is not content. */
  check(path: string, test: () => void): void {
    try {
      test()
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error
      this.problems.push({ path, message: error.message })
    }
  }

  require(path: string, isGood: boolean, message: string): void {
    if (!isGood) this.problems.push({ path, message })
  }

  throwIfAny(): void {
    if (this.problems.length > 0)
      throw new HttpProblem('invalid-input', 'the request is not valid; see problems', { problems: this.problems })
  }
}

/** The body as an object that has no other fields than these; an empty body is an empty object. */
export function readFields<K extends string>(
  body: unknown,
  known: readonly K[],
  checks: Checks,
  hint = '',
): Partial<Record<K, unknown>> {
  if (body === undefined) return {}
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    checks.require('$', false, `must be a JSON object with the fields ${known.join(', ')}`)
    return {}
  }
  for (const key of Object.keys(body)) {
    if (!(known as readonly string[]).includes(key))
      checks.require(`$${pathStep(key)}`, false, `is not known here; known: ${known.join(', ')}${hint}`)
  }
  return body
}

/** The `Idempotency-Key` header, if there is one. */
export function readKey(c: Context): { idempotencyKey?: string } {
  const idempotencyKey = c.req.header('idempotency-key')
  if (idempotencyKey === undefined) return {}
  const checks = new Checks()
  checks.check('header Idempotency-Key', () => checkName('an idempotency key', idempotencyKey))
  checks.throwIfAny()
  return { idempotencyKey }
}

/** `?wait=20s` in milliseconds, cut to what a gateway lets us hold a request. */
export function readWait(c: Context): number | undefined {
  const wait = c.req.query('wait')
  if (wait === undefined) return undefined
  const checks = new Checks()
  let ms = 0
  checks.check('?wait', () => {
    ms = milliseconds(wait as Duration, 'wait')
  })
  checks.throwIfAny()
  return Math.min(ms, LONGEST_WAIT_MS)
}

export const WAIT_PARAM = {
  wait: {
    description: `Holds the request until the run has ended or is stuck, at most this long: '20s'. Cut to ${LONGEST_WAIT_MS / 1000} s.`,
  },
}
