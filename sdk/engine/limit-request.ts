import { MOST_RATE } from '../flow/bounds.ts'
import type { Limit } from '../flow/limit.ts'
import { gateOf } from '../flow/line.ts'
import { InvalidInputError } from './errors.ts'
import type { LimitRequest } from './passes.ts'

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
  if (typeof limit?.name !== 'string' || typeof limit.spec !== 'object')
    throw new InvalidInputError(
      `${what}: \`limit\` must be what limit(…) has made, as in const openai = limit('openai', { concurrency: 10 }), got ${typeof limit}`,
    )
  const amount: unknown = typeof cost === 'function' ? cost(input as never) : cost
  if (typeof amount !== 'number' || !(amount > 0 && amount <= MOST_RATE))
    throw new InvalidInputError(`${what}: its cost must be a number above 0, got ${String(amount)}`)
  const { name, key, spec } = limit
  if (spec.rate !== undefined && amount > spec.rate)
    throw new InvalidInputError(
      `${what} costs ${amount}, and limit '${name}' has only ${spec.rate} in ${spec.perMs! / 1_000} s: it would never be let in. Raise the limit, or make it cost less`,
    )
  return { gate: gateOf({ limit: name, key }), spec, cost: amount, calledAt }
}
