import type { ExpressionBounds } from './expression-bounds.ts'

/**
 * How an expression sees a function: callable, with nothing inside. JSONata represents functions as objects,
 * and some of its functions and operators list the members of any object. The environment, the syntax tree
 * and the implementation must not become visible that way.
 */

/** JSONata's own clock and random numbers would differ on every replay. */
export interface Chance {
  now: () => string
  millis: () => number
  random: () => number
}

export interface Evaluation {
  bounds: ExpressionBounds
  chance: Chance
}

export interface Focus {
  /** `base` is the outermost environment: JSONata makes one for each evaluation. */
  environment: { base: object }
  input?: unknown
}

// biome-ignore lint/suspicious/noExplicitAny: each takes what its signature says
export type Implementation = (this: Focus, ...args: any[]) => unknown

/** How JSONata represents a built-in function. */
export interface BuiltIn {
  _jsonata_function: true
  implementation: Implementation
}

/** A function has no JSON form. */
const toJSON = (): undefined => undefined

/**
 * All that JSONata needs of a function. It also writes a position on each function that it calls; that write
 * is ignored.
 */
const CALLABLE = Object.freeze(
  Object.create(null, {
    _jsonata_function: { value: true },
    toJSON: { value: Object.freeze(toJSON) },
    token: { get: Object.freeze(() => undefined), set: Object.freeze(() => {}) },
    position: { get: Object.freeze(() => undefined), set: Object.freeze(() => {}) },
  }),
) as object

/** All expressions of a process share the built-in functions, so they must be immutable. */
export function builtIn(implementation: Implementation): BuiltIn {
  return Object.freeze(Object.create(CALLABLE, { implementation: { value: Object.freeze(implementation) } })) as BuiltIn
}

/** For a function that an expression has made, before the expression sees it. */
export function hideInside(made: object): void {
  for (const key of Object.keys(made)) Object.defineProperty(made, key, { enumerable: false })
  Object.defineProperty(made, 'toJSON', { value: toJSON })
}

/**
 * Detects functions as JSONata does, JavaScript's own included: regular expressions, and functions that were
 * passed on.
 */
export function isFunction(value: unknown): boolean {
  if (typeof value === 'function') return true
  if (typeof value !== 'object' || value === null) return false
  const { _jsonata_function, _jsonata_lambda } = value as { _jsonata_function?: unknown; _jsonata_lambda?: unknown }
  return _jsonata_function === true || _jsonata_lambda === true
}
