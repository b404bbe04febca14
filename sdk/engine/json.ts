import { InvalidInputError, type Problem } from './errors.ts'
import { fnv1a } from './random.ts'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/**
 * Refuses what would come back from the journal as something else. Properties that are `undefined` are let
 * through because TypeScript's optional fields produce them and JSON simply drops them; so is a bare
 * `undefined`, the result of a step that returns nothing.
 */
export function assertSurvivesJson(value: unknown, what: string): void {
  if (value === undefined || value === null) return
  const type = typeof value
  if (type === 'string' || type === 'boolean') return
  const problem = firstProblem(value, '$', [])
  if (problem) {
    throw new InvalidInputError(`${what} does not survive JSON, so a replay could not see it as it is`, [problem])
  }
}

/** What a replay would see: the value after a trip through the journal. */
export function throughJson<T>(value: T): T {
  if (typeof value === 'object' && value !== null) return JSON.parse(JSON.stringify(value)) as T
  // JSON knows no -0.
  return value === 0 ? (0 as T) : value
}

export function survivesJson(value: unknown): boolean {
  return value === undefined || firstProblem(value, '$', []) === undefined
}

/** Tells lists of items apart; undefined for what cannot be written down. Not meant to withstand anybody's ill will. */
export function digestOf(items: readonly unknown[]): string | undefined {
  try {
    const text = items.map((item) => canonicalJson(item)).join('\n')
    return `${fnv1a(text, 0x811c9dc5).toString(36)}${fnv1a(text, 0x9e3779b9).toString(36)}`
  } catch {
    return undefined
  }
}

/** The same text for the same data, whatever the order of its keys. */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'null'
  )
}

function firstProblem(value: unknown, path: string, above: object[]): Problem | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : { path, message: `${value} would become null` }
    case 'bigint':
      return { path, message: 'a BigInt; return it as a string' }
    case 'function':
    case 'symbol':
      return { path, message: `a ${typeof value} cannot be stored` }
    case 'undefined':
      return undefined
  }
  if (value === null) return undefined
  const object = value as object
  if (above.includes(object)) return { path, message: 'a circular reference' }
  const inside = [...above, object]
  if (Array.isArray(object)) {
    for (let i = 0; i < object.length; i++) {
      if (object[i] === undefined) return { path: `${path}[${i}]`, message: 'undefined in an array would become null' }
      const problem = firstProblem(object[i], `${path}[${i}]`, inside)
      if (problem) return problem
    }
    return undefined
  }
  const prototype = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) {
    const name = prototype?.constructor?.name ?? 'class'
    const hint = object instanceof Date ? '; return its toISOString()' : '; return a plain object'
    return { path, message: `a ${name} instance would lose its type${hint}` }
  }
  if (typeof (object as { toJSON?: unknown }).toJSON === 'function') return { path, message: 'an object with toJSON would change its shape' }
  for (const key of Object.keys(object)) {
    const problem = firstProblem((object as Record<string, unknown>)[key], `${path}${pathStep(key)}`, inside)
    if (problem) return problem
  }
  return undefined
}

export function pathStep(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}
