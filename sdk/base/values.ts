import { asError, FatalError, InvalidInputError, type Problem, recordError, reviveError } from './errors.ts'
import type { ErrorRecord } from './events.ts'
import { type Json, pathStep } from './json.ts'

/**
 * What code passes around, as JSON that can be read. JSON stands for itself, byte for byte. What JSON has no word for becomes an object with one key that says what
 * it is: `{ "~date": "2026-01-01T00:00:00.000Z" }`. An object of the user's that looks like that is `{ "~plain": … }`.
 *
 * Both directions copy, so that what code does to a value does not reach the journal, nor what another replay gets.
 */
export function encode(value: unknown, what: string): Json | undefined {
  if (value === undefined) return undefined
  try {
    return encoded(value, 0)
  } catch {
    throw new InvalidInputError(`${what} cannot be stored, and a run can only go on later with what is stored`, [
      problemIn(value, '$', [], false) ?? UNSTEADY,
    ])
  }
}

/** For those who take JSON and nothing else. */
export function encodePlain(value: unknown, what: string): Json | undefined {
  const problem = problemIn(value, '$', [], true)
  if (problem)
    throw new InvalidInputError(`${what} has to be JSON, because it leaves for a program that may not know more`, [
      problem,
    ])
  return encode(value, what)
}

/** What cannot be stored is undefined here, as is `undefined`. */
export function encodeIfPossible(value: unknown): { json: Json | undefined } | undefined {
  try {
    return { json: value === undefined ? undefined : encoded(value, 0) }
  } catch {
    return undefined
  }
}

/** Of what is stored. */
export function decode(json: Json | undefined): unknown {
  if (isCoded(json)) throw new FatalError(NO_CODEC)
  return decodeUncoded(json)
}

/** Of what no codec has made: parts of a payload, and what somebody sends. What looks like a codec's work is data there, and `encode` says so. */
export function decodeUncoded(json: Json | undefined): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) {
    const copy: unknown[] = new Array(json.length)
    for (let i = 0; i < json.length; i++) copy[i] = decodeUncoded(json[i])
    return copy
  }
  const keys = Object.keys(json)
  if (keys.length === 1 && keys[0]!.charCodeAt(0) === TILDE) {
    const kind = KINDS.get(keys[0]!)
    const revived = kind && revive(kind, json[keys[0]!]!)
    if (revived) return revived.value
  }
  const copy: Record<string, unknown> = {}
  for (const key of keys) setOwn(copy, key, decodeUncoded(json[key]))
  return copy
}

const TILDE = 126
export const ERROR = '~error'
export const PLAIN = '~plain'
const NO_CODEC =
  'a value was encoded by a codec that this code does not have. Nothing was changed: deploy with the `codec` that it was stored with, and retry the run'
/** Nobody means to store more levels; what goes in a circle has more. */
const MOST_LEVELS = 1_000
/** To write and to read a number takes the square of its digits. */
const MOST_DIGITS = 10_000
const REFUSED = Symbol('cannot be stored')

function encoded(value: unknown, level: number): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { '~number': Object.is(value, -0) ? '-0' : String(value) }
    case 'object':
      return value === null ? null : encodedObject(value, level)
    case 'undefined':
      return { '~undefined': true }
    case 'bigint':
      return encodedBigInt(value)
    default:
      throw REFUSED
  }
}

function encodedBigInt(value: bigint): Json {
  if (!isShort(value)) throw REFUSED
  return { '~bigint': String(value) }
}

const LONGEST = 10n ** BigInt(MOST_DIGITS)
const isShort = (value: bigint): boolean => -LONGEST < value && value < LONGEST

function encodedObject(object: object, level: number): Json {
  if (level >= MOST_LEVELS) throw REFUSED
  if (Array.isArray(object)) {
    if (Object.getPrototypeOf(object) !== Array.prototype) throw REFUSED
    const copy: Json[] = new Array(object.length)
    for (let i = 0; i < object.length; i++) copy[i] = encoded(object[i], level + 1)
    return copy
  }
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) return encodedInstance(object, level)
  const copy: { [key: string]: Json } = {}
  let [count, last] = [0, '']
  for (const key of Object.keys(object)) {
    const value = (object as Record<string, unknown>)[key]
    // As JSON has it: TypeScript's optional fields are undefined all the time, and mean that they are not there.
    if (value === undefined) continue
    setOwn(copy, key, encoded(value, level + 1))
    count++
    last = key
  }
  return count === 1 && last.charCodeAt(0) === TILDE ? { [PLAIN]: copy } : copy
}

interface Kind {
  key: string
  is(object: object): boolean
  /** `level` is that of what is written; as JSON it may have several itself. */
  write(object: never, level: number): Json
  /** Undefined for what was never written like this: it is somebody's plain object then. */
  read(json: Json): { value: unknown } | undefined
}

const isExactly =
  (Type: { prototype: object }) =>
  (object: object): boolean =>
    Object.getPrototypeOf(object) === Type.prototype

const text = (read: (text: string) => unknown) => (json: Json) =>
  typeof json === 'string' ? { value: read(json) } : undefined

const INSTANCES: readonly Kind[] = [
  {
    key: '~date',
    is: isExactly(Date),
    write: (date: Date) => (Number.isNaN(date.getTime()) ? null : date.toISOString()),
    read: (json) => {
      if (json === null) return { value: new Date(Number.NaN) }
      const date = new Date(typeof json === 'string' ? json : Number.NaN)
      return Number.isNaN(date.getTime()) ? undefined : { value: date }
    },
  },
  {
    key: '~map',
    is: isExactly(Map),
    write: (map: Map<unknown, unknown>, level) =>
      Array.from(map, ([key, value]) => [encoded(key, level + 2), encoded(value, level + 2)]),
    read: (json) =>
      isPairs(json)
        ? { value: new Map(json.map(([key, value]) => [decodeUncoded(key), decodeUncoded(value)])) }
        : undefined,
  },
  {
    key: '~set',
    is: isExactly(Set),
    write: (set: Set<unknown>, level) => Array.from(set, (each) => encoded(each, level + 1)),
    read: (json) => (Array.isArray(json) ? { value: new Set(json.map(decodeUncoded)) } : undefined),
  },
  { key: '~url', is: isExactly(URL), write: (url: URL) => url.href, read: text((href) => new URL(href)) },
  {
    key: '~regexp',
    is: isExactly(RegExp),
    write: (regexp: RegExp) => String(regexp),
    read: text(
      (source) => new RegExp(source.slice(1, source.lastIndexOf('/')), source.slice(source.lastIndexOf('/') + 1)),
    ),
  },
  { key: '~bytes', is: isExactly(Uint8Array), write: toBase64, read: text(fromBase64) },
  // Node's own bytes, which do more than others; where there is no Node they are bytes like any.
  {
    key: '~buffer',
    is: (object) => typeof Buffer !== 'undefined' && isExactly(Buffer)(object),
    write: toBase64,
    read: text((base64) => (typeof Buffer === 'undefined' ? fromBase64(base64) : Buffer.from(base64, 'base64'))),
  },
  {
    key: ERROR,
    is: (object) => object instanceof Error,
    write: (error: Error) => JSON.parse(JSON.stringify(recordError(error))) as Json,
    // One that came without a stack must not get that of this line.
    read: (json) =>
      isErrorRecord(json)
        ? { value: reviveError({ stack: `${json.name}: ${json.message}`, ...(json as ErrorRecord) }) }
        : undefined,
  },
]

const OTHERS: readonly Pick<Kind, 'key' | 'read'>[] = [
  {
    key: '~number',
    read: (json) =>
      json === '-0' || json === 'NaN' || json === 'Infinity' || json === '-Infinity'
        ? { value: Number(json) }
        : undefined,
  },
  {
    key: '~bigint',
    read: (json) =>
      typeof json === 'string' && /^-?\d+$/.test(json) && json.length <= MOST_DIGITS + 1
        ? { value: BigInt(json) }
        : undefined,
  },
  { key: '~undefined', read: (json) => (json === true ? { value: undefined } : undefined) },
  {
    key: PLAIN,
    read: (json) =>
      typeof json === 'object' && json !== null && !Array.isArray(json) ? { value: plain(json) } : undefined,
  },
]

/** How a codec marks what it made, which is always a whole payload. */
export const CODED = '~coded'

/** Whoever meets it without the codec would take it for data. */
export function isCoded(value: unknown): value is { [CODED]: string } {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Record<string, unknown>)[CODED] === 'string' &&
    Object.keys(value).length === 1
  )
}

const KINDS: ReadonlyMap<string, Pick<Kind, 'read'>> = new Map(
  [...INSTANCES, ...OTHERS].map((kind) => [kind.key, kind]),
)

function encodedInstance(object: object, level: number): Json {
  const kind = INSTANCES.find(({ is }) => is(object))
  if (!kind) throw REFUSED
  return { [kind.key]: kind.write(object as never, level + 1) }
}

/** What somebody else wrote may look like ours and be none: it is plain then, and nobody's fault. */
function revive({ read }: Pick<Kind, 'read'>, json: Json): { value: unknown } | undefined {
  try {
    return read(json)
  } catch {
    return undefined
  }
}

function plain(json: { [key: string]: Json }): unknown {
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(json)) setOwn(copy, key, decodeUncoded(json[key]))
  return copy
}

/** `__proto__` is a key like any other. */
function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  else object[key] = value
}

const isPairs = (json: Json): json is [Json, Json][] =>
  Array.isArray(json) && json.every((pair) => Array.isArray(pair) && pair.length === 2)

function isErrorRecord(json: Json): json is Json & ErrorRecord {
  return (
    typeof json === 'object' &&
    json !== null &&
    !Array.isArray(json) &&
    typeof json.name === 'string' &&
    typeof json.message === 'string'
  )
}

/** In pieces: a call takes no more arguments than this. */
const PIECE = 0x8000

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let i = 0; i < bytes.length; i += PIECE) binary += String.fromCharCode(...bytes.subarray(i, i + PIECE))
  return btoa(binary)
}

function fromBase64(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

/** Of what is refused though nothing is wrong wherever one looks. */
const UNSTEADY: Problem = {
  path: '$',
  message:
    'has too many levels, one within the other, or says something else each time it is read; give plain data of fewer levels, such as a copy by structuredClone',
}

/** Says where and why, and what to do instead. Only asked for when something is wrong, so it may take its time. */
function problemIn(value: unknown, path: string, above: readonly object[], onlyPlain: boolean): Problem | undefined {
  try {
    return problemFound(value, path, above, onlyPlain)
  } catch (error) {
    // A getter or a proxy may throw, whoever looks.
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
      message: `a BigInt of more than ${MOST_DIGITS.toLocaleString('en')} digits cannot be stored; give its bytes, or keep it elsewhere and give a link to it`,
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
  return INSTANCES.some(({ is }) => is(object)) ? [] : undefined
}

const nameOf = (object: object): string =>
  (Object.getPrototypeOf(object) as { constructor?: { name?: string } } | null)?.constructor?.name || 'class'

function unknownInstance(object: object): string {
  if (object instanceof Promise) return 'a Promise cannot be stored; await it'
  if (ArrayBuffer.isView(object) || object instanceof ArrayBuffer)
    return `a ${nameOf(object)} cannot be stored; store a Uint8Array of its bytes`
  return `an instance of ${nameOf(object)} would lose its class; give a plain object, and make the instance of it where it is used`
}
