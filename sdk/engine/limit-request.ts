import { inspect } from 'node:util'
import { InvalidInputError } from '../base/errors.ts'
import type { Limited, LimitOfStep, PermitRequest } from './flow-port.ts'

export function checkedLimit(limit: LimitOfStep, what: string): LimitOfStep {
  if (typeof limit?.permitFor === 'function') return limit
  throw new InvalidInputError(
    `${what}: \`limit\` must be what limit(…) has made, as in const openai = limit('openai', { ` +
      `concurrency: 10 }), got ${inspect(limit)}`,
  )
}

/** What a step or task says of its limit, checked. */
export function limitRequest(
  { limit, cost = 1 }: Limited,
  input: unknown,
  what: string,
  calledAt: number,
): PermitRequest | undefined {
  if (limit === undefined) {
    if (cost === 1) return undefined
    throw new InvalidInputError(`${what} has a cost and no limit that it would be taken from; give it a \`limit\``)
  }
  const amount: unknown = typeof cost === 'function' ? cost(input as never) : cost
  return { ...checkedLimit(limit, what).permitFor(amount, what), calledAt }
}
