import { recordError, reviveError } from './error-records.ts'
import { FatalError, InvalidInputError } from './errors.ts'
import type { ErrorRecord } from './events.ts'
import type { Json } from './json.ts'
import { isExactly, isShort, MOST_DIGITS, MOST_LEVELS, problemIn, UNSTEADY } from './value-problems.ts'

/**
 * What code passes around, as JSON that people can read. JSON stands for itself, byte for byte. Other types become
 * an object with one key that names the type: `{ "~date": "2026-01-01T00:00:00.000Z" }`. An object of the user's
 * that looks like that is stored as `{ "~plain": … }`.
 *
 * Both directions copy. So what code does to a value reaches neither the journal nor another replay.
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

/**
 * For values that no codec has encoded: parts of a payload, and input from outside. What looks like a codec's work
 * is data there, and `encode` marks it.
 */
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
  'a value was encoded by a codec that this code does not have. Nothing was changed: deploy with the ' +
  '`codec` that it was stored with, and retry the run'

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
  /** Undefined for what was never written like this: then it is a plain object of the user's. */
  read(json: Json): { value: unknown } | undefined
}

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
    // An error that came without a stack must not get the stack of this line.
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

/** Code without the codec would take it for data. */
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

export const isStorableInstance = (object: object): boolean => INSTANCES.some(({ is }) => is(object))

function encodedInstance(object: object, level: number): Json {
  const kind = INSTANCES.find(({ is }) => is(object))
  if (!kind) throw REFUSED
  return { [kind.key]: kind.write(object as never, level + 1) }
}

/** Data from outside may look like a stored type and be none: then it is plain data. */
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
