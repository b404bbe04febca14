import { asError } from './error-records.ts'
import type { Problem } from './errors.ts'
import { pathStep } from './json.ts'
import { isStorableInstance } from './values.ts'

/** A value with more levels was not meant to be stored; a circular one has more. */
export const MOST_LEVELS = 1_000

/** To write and to read a number takes the square of its digits. */
export const MOST_DIGITS = 10_000

const LONGEST = 10n ** BigInt(MOST_DIGITS)

export const isShort = (value: bigint): boolean => -LONGEST < value && value < LONGEST

export const isExactly =
  (Type: { prototype: object }) =>
  (object: object): boolean =>
    Object.getPrototypeOf(object) === Type.prototype

/** Of what is refused though nothing is wrong wherever one looks. */
export const UNSTEADY: Problem = {
  path: '$',
  message:
    'has too many levels, one within the other, or says something else each time it is read; give plain ' +
    'data of fewer levels, such as a copy by structuredClone',
}

/** Says where and why, and what to do instead. Only asked for when something is wrong, so it may take its time. */
export function problemIn(
  value: unknown,
  path: string,
  above: readonly object[],
  onlyPlain: boolean,
): Problem | undefined {
  try {
    return problemFound(value, path, above, onlyPlain)
  } catch (error) {
    // A getter or a proxy may throw when it is read.
    return { path, message: `it cannot be read: ${asError(error).message}; give plain data instead` }
  }
}

function problemFound(value: unknown, path: string, above: readonly object[], onlyPlain: boolean): Problem | undefined {
  if (typeof value === 'function')
    return { path, message: 'a function cannot be stored; give the data that it works with instead' }
  if (typeof value === 'symbol') return { path, message: 'a symbol cannot be stored; give a string instead' }
  if (typeof value === 'bigint' && !onlyPlain && !isShort(value))
    return {
      path,
      message:
        `a BigInt of more than ${MOST_DIGITS.toLocaleString('en')} digits cannot be stored; give ` +
        'its bytes, or keep it elsewhere and give a link to it',
    }
  if (onlyPlain) {
    if (typeof value === 'bigint') return { path, message: 'a BigInt is no JSON; give a string' }
    if (typeof value === 'number' && !Number.isFinite(value))
      return { path, message: `${value} is no JSON and would become null; give a string, or leave it out` }
    if (value === undefined && above.length > 0)
      return { path, message: 'undefined is no JSON and would become null; give null, or leave it out' }
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (above.includes(value))
    return { path, message: 'it refers back to what it is in, and would have no end; give an id instead' }
  if (above.length >= MOST_LEVELS)
    return { path, message: `more than ${MOST_LEVELS.toLocaleString('en')} levels; give it fewer levels` }
  const parts = partsOf(value, path)
  if (!parts) return { path, message: unknownInstance(value) }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (onlyPlain && !Array.isArray(value) && prototype !== Object.prototype && prototype !== null)
    return {
      path,
      message: `a ${nameOf(value)} is no JSON; give ${value instanceof Date ? 'its toISOString()' : 'a plain object'}`,
    }
  for (const [part, at] of parts) {
    const problem = problemIn(part, at, [...above, value], onlyPlain)
    if (problem) return problem
  }
  return undefined
}

/** What is in it, and where; undefined for what cannot be stored whatever is in it. */
function partsOf(object: object, path: string): [unknown, string][] | undefined {
  if (Array.isArray(object))
    return Object.getPrototypeOf(object) === Array.prototype
      ? Array.from(object, (part, i) => [part, `${path}[${i}]`])
      : undefined
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype === Object.prototype || prototype === null) {
    const entries = Object.entries(object).filter(([, part]) => part !== undefined)
    return entries.map(([key, part]) => [part, `${path}${pathStep(key)}`])
  }
  if (isExactly(Map)(object))
    return [...(object as Map<unknown, unknown>)].flatMap(([key, part], i): [unknown, string][] => [
      [key, `${path}.keys()[${i}]`],
      [part, `${path}.values()[${i}]`],
    ])
  if (isExactly(Set)(object)) return [...(object as Set<unknown>)].map((part, i) => [part, `${path}.values()[${i}]`])
  return isStorableInstance(object) ? [] : undefined
}

const nameOf = (object: object): string =>
  (Object.getPrototypeOf(object) as { constructor?: { name?: string } } | null)?.constructor?.name || 'class'

function unknownInstance(object: object): string {
  if (object instanceof Promise) return 'a Promise cannot be stored; await it'
  if (ArrayBuffer.isView(object) || object instanceof ArrayBuffer)
    return `a ${nameOf(object)} cannot be stored; store a Uint8Array of its bytes`
  return (
    `an instance of ${nameOf(object)} would lose its class; give a plain object, and make the ` +
    'instance of it where it is used'
  )
}
