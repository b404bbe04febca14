import type { ExpressionBounds } from './expression-bounds.ts'

/**
 * What an expression holds when it holds a function: something to call, with nothing inside.
 * JSONata keeps functions as objects, and some of its functions and operators list the members of
 * any object. What they would find (the environment, the syntax tree, the implementation) is not
 * the expression's.
 */

/** JSONata's clock and dice would give something else on every replay. */
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

/** How JSONata keeps a built-in function. */
export interface BuiltIn {
  _jsonata_function: true
  implementation: Implementation
}

/** In JSON a function is nothing. */
const toJSON = (): undefined => undefined

/** All that JSONata asks of a function. It notes on each that it calls where, and is not heard. */
const CALLABLE = Object.freeze(
  Object.create(null, {
    _jsonata_function: { value: true },
    toJSON: { value: Object.freeze(toJSON) },
    token: { get: Object.freeze(() => undefined), set: Object.freeze(() => {}) },
    position: { get: Object.freeze(() => undefined), set: Object.freeze(() => {}) },
  }),
) as object

/** All expressions of a process share the built-in functions, so nothing about one can change. */
export function builtIn(implementation: Implementation): BuiltIn {
  return Object.freeze(Object.create(CALLABLE, { implementation: { value: Object.freeze(implementation) } })) as BuiltIn
}

/** For a function that an expression has made: JSONata has just built it, and the expression has not seen it yet. */
export function hideInside(made: object): void {
  for (const key of Object.keys(made)) Object.defineProperty(made, key, { enumerable: false })
  Object.defineProperty(made, 'toJSON', { value: toJSON })
}

/** As JSONata tells them, JavaScript's own among them: regular expressions, and functions that were passed on. */
export function isFunction(value: unknown): boolean {
  if (typeof value === 'function') return true
  if (typeof value !== 'object' || value === null) return false
  const { _jsonata_function, _jsonata_lambda } = value as { _jsonata_function?: unknown; _jsonata_lambda?: unknown }
  return _jsonata_function === true || _jsonata_lambda === true
}
