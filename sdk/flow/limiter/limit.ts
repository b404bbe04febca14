import { inspect } from 'node:util'
import { type Duration, milliseconds } from '../../base/duration.ts'
import { InvalidInputError } from '../../base/errors.ts'
import { checkName } from '../../base/names.ts'
import { specInWords } from '../../views/limit-words.ts'
import { LONGEST_PER_MS, MOST_CONCURRENCY, MOST_RATE, SHORTEST_PER_MS } from './bounds.ts'
import { type LimiterId, limiterOf } from './limiter.ts'

export interface LimitOptions {
  /** How many may be under way at once. */
  concurrency?: number
  /** How many may begin within `per`; where steps have a `cost`, how much they may cost together. */
  rate?: number
  per?: Duration
}

/** The numbers of a limit, checked. */
export interface LimitSpec {
  concurrency?: number
  rate?: number
  perMs?: number
}

/** A limit that steps and tasks of any workflow share, by its name. */
export interface Limit {
  readonly name: string
  readonly spec: LimitSpec
  /** Which of its parts: each key has the whole limit to itself. */
  readonly key?: string
  /** What one who costs so much asks for; throws where that can never be granted. */
  permitFor(cost: unknown, what: string): { limiter: LimiterId; spec: LimitSpec; cost: number }
  /** The same limit for one tenant, one model, one account: each key has slots, a rate and a queue of its own. */
  for(key: string): Limit
}

const defined = new Map<string, { spec: LimitSpec; site: Error }>()
/** All that this process has. */
export const namedLimits = (): [name: string, spec: LimitSpec][] => [...defined].map(([name, { spec }]) => [name, spec])

/**
 * A limit by name: `ctx.step('ask', ask, { limit: openai })`. All steps that name it share it, in every workflow
 * and every process.
 */
export function limit(name: string, options: LimitOptions): Limit {
  checkName('the name of a limit', name)
  if (name === '.' || name === '..')
    throw new InvalidInputError(`a limit cannot be named '${name}': that is no name in an address`)
  if (name.includes(':'))
    throw new InvalidInputError(
      `the name of a limit must not contain ':', which is for the limits of workflows: '${name}'`,
    )
  const what = `limit '${name}'`
  const spec = specOf(options, what)
  const site = new Error('a limit was defined here')
  const there = defined.get(name)
  if (there && !isSameSpec(there.spec, spec)) {
    throw new InvalidInputError(
      `two limits are named '${name}' and have different values: ` +
        `${specInWords(there.spec)} (${placeOf(there.site)}), and ${specInWords(spec)} (${placeOf(site)}). ` +
        'Define it once and import it where it is used, or give one of them another name',
    )
  }
  if (!there) defined.set(name, { spec, site })
  return limitOf(name, spec)
}

function limitOf(name: string, spec: LimitSpec, key?: string): Limit {
  return {
    name,
    spec,
    ...(key !== undefined && { key }),
    permitFor: (cost, what) => ({
      limiter: limiterOf({ limit: name, key }),
      spec,
      cost: checkedCost(cost, name, spec, what),
    }),
    for: (key) => {
      checkName(`a key of limit '${name}'`, key)
      return limitOf(name, spec, key)
    },
  }
}

function checkedCost(cost: unknown, name: string, spec: LimitSpec, what: string): number {
  if (typeof cost !== 'number' || !(cost > 0 && cost <= MOST_RATE))
    throw new InvalidInputError(
      `${what}: its cost must be a number above 0 and at most ${MOST_RATE.toLocaleString('en')}, got ${inspect(cost)}`,
    )
  if (spec.rate === undefined || cost <= spec.rate) return cost
  const has = specInWords({ rate: spec.rate, perMs: spec.perMs! })
  throw new InvalidInputError(
    `${what} costs ${cost}, and limit '${name}' has only ${has} in the code: it would never be granted. ` +
      'Raise it there, or make it cost less',
  )
}

/** Throws unless the numbers make a limit. */
export function specOf(options: LimitOptions, what: string): LimitSpec {
  const { concurrency, rate, per } = options ?? {}
  if (concurrency === undefined && rate === undefined)
    throw new InvalidInputError(
      `${what} limits nothing; give it a concurrency, as in { concurrency: 10 }, or a rate, as in { rate: ` +
        "100, per: '1m' }",
    )
  if ((rate === undefined) !== (per === undefined))
    throw new InvalidInputError(`${what}: \`rate\` and \`per\` go together, as in { rate: 100, per: '1m' }`)
  if (concurrency !== undefined) checkWhole(`${what}: concurrency`, concurrency, MOST_CONCURRENCY)
  if (rate === undefined) return { concurrency: concurrency! }
  checkWhole(`${what}: rate`, rate, MOST_RATE)
  const perMs = milliseconds(per!, `${what}: per`)
  if (perMs < SHORTEST_PER_MS || perMs > LONGEST_PER_MS)
    throw new InvalidInputError(`${what}: \`per\` must be from 1 second to 31 days, got ${perMs} ms`)
  return { ...(concurrency !== undefined && { concurrency }), rate, perMs }
}

function checkWhole(what: string, value: unknown, most: number): void {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > most)
    throw new InvalidInputError(
      `${what} must be a whole number from 1 to ${most.toLocaleString('en')}, got ${String(value)}. To let ` +
        'nothing through, pause it',
    )
}

export function isSameSpec(a: LimitSpec, b: LimitSpec): boolean {
  return a.concurrency === b.concurrency && a.rate === b.rate && a.perMs === b.perMs
}

/**
 * The line that called `limit`, for people who have two of them. Only then the stack is made text of: where source maps
 * are on, as in Lambda, the first stack of a process costs half of its start.
 */
function placeOf({ stack = '' }: Error): string {
  const line = stack.split('\n')[2] ?? ''
  return line.replace(/^\s*at /, '').trim() || 'unknown place'
}
