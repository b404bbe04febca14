import type { LimitOptions, LimitSpec } from '../flow/limiter/limit.ts'
import type { LimitView } from '../flow/operating/limits.ts'
import type { Count } from '../ports/run-lists.ts'
import { span } from './moments.ts'

/** The numbers of a limit in words: `10 at once, 100 in 1 min`. */
export function specInWords({ concurrency, rate, perMs = 0 }: LimitSpec): string {
  const parts = [
    ...(concurrency === undefined ? [] : [`${concurrency.toLocaleString('en')} at once`]),
    ...(rate === undefined ? [] : [`${rate.toLocaleString('en')} in ${span(perMs)}`]),
  ]
  return parts.join(', ') || 'unlimited'
}

/** Says that each key has the whole limit to itself. */
export const inForceInWords = ({
  inForce,
  gates,
  unreadable,
}: Pick<LimitView, 'inForce' | 'gates' | 'unreadable'>): string =>
  unreadable === undefined
    ? `${specInWords(inForce)}${isKeyed(gates) ? ' for each key' : ''}`
    : 'its record cannot be read'

/** All stored parts of the limit that cannot be read. */
export const damageOf = ({ gates, unreadable }: Pick<LimitView, 'gates' | 'unreadable'>): string[] => [
  ...(unreadable === undefined ? [] : [unreadable]),
  ...gates.flatMap((gate) => gate.unreadable ?? []),
]

/** ` for 3 keys`: without it, the sum of all keys' holders looks like more than the limit allows. */
export function keysInWords({ gates, hasMore }: Pick<LimitView, 'gates' | 'hasMore'>): string {
  return isKeyed(gates) && gates.length > 1
    ? ` for ${countInWords({ count: gates.length, ...(hasMore && { isMore: true }) })} keys`
    : ''
}

const isKeyed = (gates: LimitView['gates']): boolean => gates.some(({ key }) => key !== undefined)

/** Which numbers a limit takes: a workflow's limit has a fixed purpose, and a singleton admits one run at a time. */
export function takenBy({ name, code }: Pick<LimitView, 'name' | 'code'>): { concurrency: boolean; rate: boolean } {
  const isNamed = !name.includes(':')
  const isSingleton = name.endsWith(':singleton')
  return {
    concurrency: isNamed || (code.concurrency !== undefined && !isSingleton),
    rate: isNamed || code.rate !== undefined,
  }
}

/** Why the limit cannot be set, whatever the numbers are. */
export function refusalOfSet(
  limit: Pick<LimitView, 'name' | 'code' | 'inForce'>,
  { concurrency, rate, per }: LimitOptions,
): string | undefined {
  const takes = takenBy(limit)
  const what = `limit '${limit.name}'`
  const isOfRate = (rate ?? per) !== undefined
  if (concurrency === undefined && !isOfRate) return `say what ${what} is to be: a concurrency, a rate, or both`
  if (!takes.concurrency && !takes.rate)
    return `${what} is that of a singleton: there is one run of each key, and no other number for it`
  if (isOfRate && !takes.rate)
    return `${what} is one of how many runs are under way at once, so it takes a concurrency and no rate`
  if (concurrency !== undefined && !takes.concurrency)
    return `${what} is one of how many runs may start, so it takes a rate and no concurrency`
  if (per !== undefined && (rate ?? limit.inForce.rate) === undefined)
    return `${what} has no rate, so there is nothing for \`per\`; give a rate too`
  return undefined
}

/** Of all keys together. */
export function totalsOf({ gates, hasMore }: Pick<LimitView, 'gates' | 'hasMore'>): { inside: Count; waiting: Count } {
  const sum = (counts: Count[]): Count => ({
    count: counts.reduce((total, { count }) => total + count, 0),
    ...((hasMore || counts.some(({ isMore }) => isMore)) && { isMore: true as const }),
  })
  return {
    inside: sum(gates.map(({ inside }) => ({ count: inside }))),
    waiting: sum(gates.map(({ waiting }) => waiting)),
  }
}

/** `1 run`, `1,000+ runs`. */
export const runsInWords = (runs: Count): string =>
  `${countInWords(runs)} ${runs.count === 1 && !runs.isMore ? 'run' : 'runs'}`

export const countInWords = ({ count, isMore }: Count): string => `${count.toLocaleString('en')}${isMore ? '+' : ''}`
