import { inspect } from 'node:util'
import { MOST_RATE } from '../flow/bounds.ts'
import type { Limit } from '../flow/limit.ts'
import { gateOf } from '../flow/line.ts'
import { specInWords } from '../views/limit-words.ts'
import { InvalidInputError } from './errors.ts'
import type { LimitRequest } from './passes.ts'

export function checkedLimit(limit: Limit, what: string): Limit {
  if (typeof limit?.name === 'string' && typeof limit.spec === 'object' && limit.spec !== null) return limit
  throw new InvalidInputError(
    `${what}: \`limit\` must be what limit(…) has made, as in const openai = limit('openai', { concurrency: 10 }), got ${inspect(limit)}`,
  )
}

/** What a step or task says of its limit, checked. */
export function limitRequest(
  { limit, cost = 1 }: { limit?: Limit; cost?: number | ((input: never) => number) },
  input: unknown,
  what: string,
  calledAt: number,
): LimitRequest | undefined {
  if (limit === undefined) {
    if (cost === 1) return undefined
    throw new InvalidInputError(`${what} has a cost and no limit that it would be taken from; give it a \`limit\``)
  }
  const amount: unknown = typeof cost === 'function' ? cost(input as never) : cost
  if (typeof amount !== 'number' || !(amount > 0 && amount <= MOST_RATE))
    throw new InvalidInputError(`${what}: its cost must be a number above 0 and at most ${MOST_RATE.toLocaleString('en')}, got ${inspect(amount)}`)
  const { name, key, spec } = checkedLimit(limit, what)
  if (spec.rate !== undefined && amount > spec.rate)
    throw new InvalidInputError(
      `${what} costs ${amount}, and limit '${name}' has only ${specInWords({ rate: spec.rate, perMs: spec.perMs! })} in the code: it would never be let in. Raise it there, or make it cost less`,
    )
  return { gate: gateOf({ limit: name, key }), spec, cost: amount, calledAt }
}
