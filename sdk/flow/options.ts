import { type Duration, milliseconds } from '../base/duration.ts'
import { InvalidInputError } from '../base/errors.ts'
import { MOST_BATCH } from './limiter/bounds.ts'
import { type LimitSpec, specOf } from './limiter/limit.ts'
import { isPause } from './limiter/pause-scope.ts'

/**
 * How many runs of a workflow go at once, how fast they start, and which starts become one. `I` is the parsed
 * input.
 */
export interface FlowOptions<I> {
  /**
   * How many of its runs may be between start and end at once, sleeping ones included; with a `key`, for each key.
   * Several limits apply together: `[{ limit: 5, key: tenant }, { limit: 100 }]`. The other runs are `queued`: keys
   * take turns, and within one key priority and arrival decide.
   */
  concurrency?: Concurrency<I> | readonly Concurrency<I>[]
  /** How many of its runs may start within `per`; with a `key`, for each key. The others are `queued`. */
  rateLimit?: { limit: number; per: Duration; key?: KeyOf<I> }
  /**
   * Starts with the same key become one run, with the last input, once none has come for `wait`, and at the latest
   * `max` after the first.
   */
  debounce?: { key: KeyOf<I>; wait: Duration; max?: Duration }
  /**
   * One run for each key. A start beside a run that has not ended gives that run (`skip`), cancels it and takes its
   * place (`cancel-running`), or waits for its end, and only the last start does (`queue-latest`).
   */
  singleton?: { key: KeyOf<I>; onConflict: OnConflict }
  /** Those with a higher one go first: each step of it counts as a minute of waiting. Default 0. */
  priority?: (input: I) => number
  /** One run gets the inputs of many starts, as a list: of `size`, or of as many as came within `wait` of the first. */
  batch?: { size: number; wait: Duration; key?: KeyOf<I> }
}

export type KeyOf<I> = (input: I) => string
export type OnConflict = 'skip' | 'cancel-running' | 'queue-latest'
export interface Concurrency<I> {
  limit: number
  key?: KeyOf<I>
}

/** One of a workflow's limits, by the name under which it is seen and set. */
export interface WorkflowLimit {
  name: string
  spec: LimitSpec
  key?: KeyOf<unknown>
}

const SINGLETON = ':singleton'
export const isSingleton = (limit: string): boolean => limit.endsWith(SINGLETON)

const ON_CONFLICT: Record<OnConflict, true> = { skip: true, 'cancel-running': true, 'queue-latest': true }

// biome-ignore lint/suspicious/noExplicitAny: a registry holds workflows of every type
export type AnyFlow = FlowOptions<any>

/** Throws unless the options of a workflow make sense; gives its limits in the order in which a run passes them. */
export function limitsOf(workflow: string, options: AnyFlow): WorkflowLimit[] {
  const { concurrency, rateLimit, singleton, debounce, batch, priority } = options
  const what = `workflow '${workflow}'`
  const limits: WorkflowLimit[] = []
  for (const name of ['rateLimit', 'singleton', 'debounce', 'batch'] as const) checkWritten(what, name, options[name])
  if (singleton) {
    checkKey(`${what}: singleton.key`, singleton.key, 'needed')
    if (!Object.hasOwn(ON_CONFLICT, singleton.onConflict))
      throw new InvalidInputError(
        `${what}: singleton.onConflict must be one of ${Object.keys(ON_CONFLICT).join(', ')}, got ` +
          `${JSON.stringify(singleton.onConflict)}`,
      )
    limits.push({ name: `${workflow}${SINGLETON}`, spec: { concurrency: 1 }, key: singleton.key })
  }
  const several = concurrency === undefined ? [] : Array.isArray(concurrency) ? concurrency : [concurrency]
  if (concurrency !== undefined && several.length === 0)
    throw new InvalidInputError(`${what}: its concurrency is an empty list; leave it out where there is to be none`)
  for (const each of several) {
    const example = `{ limit: ${typeof each === 'number' ? each : 5} }`
    if (each?.limit === undefined)
      throw new InvalidInputError(
        `${what}: write its concurrency as \`concurrency: ${example}\`, or as a list of such limits`,
      )
  }
  // Named by their place in the code: what people have set for one is not for another when a limit is added behind it.
  const named = several.map(({ limit, key }, i) => ({
    name: `${workflow}:concurrency${i === 0 ? '' : `:${i + 1}`}`,
    limit,
    key,
  }))
  for (const { name, limit, key } of [...named.filter(({ key }) => key), ...named.filter(({ key }) => !key)]) {
    checkKey(`${what}: the key of its concurrency`, key)
    limits.push({ name, spec: specOf({ concurrency: limit }, `the concurrency of ${what}`), ...(key && { key }) })
  }
  // Last: a start that a rate has granted must not wait for anything else.
  if (rateLimit) {
    checkKey(`${what}: rateLimit.key`, rateLimit.key)
    const { limit: rate, per, key } = rateLimit
    if (rate === undefined || per === undefined)
      throw new InvalidInputError(`${what}: write its rateLimit as \`rateLimit: ${WRITTEN.rateLimit}\``)
    limits.push({
      name: `${workflow}:rate`,
      spec: specOf({ rate, per }, `the rateLimit of ${what}`),
      ...(key && { key }),
    })
  }
  if (priority !== undefined && typeof priority !== 'function')
    throw new InvalidInputError(`${what}: \`priority\` is a function of the input that gives a number`)
  if (debounce) checkDebounce(what, debounce)
  if (batch) checkBatch(what, batch)
  if (debounce && batch)
    throw new InvalidInputError(
      `${what} has a debounce and a batch; of starts that become one run, give either the last input or all of them`,
    )
  if (limits.some(({ name }) => isPause(name)))
    throw new InvalidInputError(
      `a workflow with limits cannot be named '${workflow}': its limits would look like pauses. Give it another name`,
    )
  if (singleton && (debounce || batch))
    throw new InvalidInputError(
      `${what} has a singleton beside a ${debounce ? 'debounce' : 'batch'}; give it one of the two`,
    )
  return limits
}

const WRITTEN = {
  rateLimit: "{ limit: 100, per: '1m' }",
  singleton: "{ key: ({ tenant }) => tenant, onConflict: 'skip' }",
  debounce: "{ key: ({ document }) => document, wait: '10s' }",
  batch: "{ size: 100, wait: '10s' }",
}

/** A zero or a false would look as if it had switched something off. */
function checkWritten(what: string, name: keyof typeof WRITTEN, value: unknown): void {
  if (value === undefined || (typeof value === 'object' && value !== null)) return
  throw new InvalidInputError(
    `${what}: write its ${name} as \`${name}: ${WRITTEN[name]}\`, or leave it out; got ${JSON.stringify(value)}`,
  )
}

function checkDebounce(what: string, { key, wait, max }: NonNullable<AnyFlow['debounce']>): void {
  checkKey(`${what}: debounce.key`, key, 'needed')
  const ms = milliseconds(wait, `${what}: debounce.wait`)
  if (max !== undefined && milliseconds(max, `${what}: debounce.max`) < ms)
    throw new InvalidInputError(`${what}: debounce.max must not be shorter than debounce.wait`)
}

function checkBatch(what: string, { key, size, wait }: NonNullable<AnyFlow['batch']>): void {
  checkKey(`${what}: batch.key`, key)
  milliseconds(wait, `${what}: batch.wait`)
  if (!Number.isInteger(size) || size < 1 || size > MOST_BATCH)
    throw new InvalidInputError(
      `${what}: batch.size must be a whole number from 1 to ${MOST_BATCH.toLocaleString('en')}, got ${String(size)}`,
    )
}

function checkKey(what: string, key: unknown, needed?: 'needed'): void {
  if (key === undefined && !needed) return
  if (typeof key !== 'function')
    throw new InvalidInputError(
      `${what} must be a function of the input that gives a string, as in ({ tenant }) => tenant`,
    )
}
