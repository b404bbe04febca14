import type { Context } from 'hono'
import { type Duration, milliseconds } from '../../sdk/base/duration.ts'
import { checkName } from '../../sdk/base/names.ts'
import { LONGEST_WAIT_MS } from '../../sdk/http-api/terms.ts'
import { InvalidInputError, type Problem } from '../../sdk/index.ts'
import { HttpProblem } from './problem.ts'

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
export function heldMs(wait: Duration | undefined): number | undefined {
  return wait === undefined ? undefined : Math.min(milliseconds(wait, 'wait'), LONGEST_WAIT_MS)
}
