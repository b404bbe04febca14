import * as z from 'zod/mini'
import { InvalidInputError } from '../base/errors.ts'
import type { Json } from '../base/json.ts'

/** What the shapes are written with. zod/mini: loading it takes a third of what loading zod takes. */

export type Shape<T = unknown> = z.ZodMiniType<T>
export type Shaped<S extends Shape> = z.infer<S>

interface Meta {
  /** Its name among the schemas of the OpenAPI document. */
  id?: string
  description?: string
  [keyword: string]: unknown
}

/** What the OpenAPI document says of a shape beside its type. */
export const notes = z.registry<Meta>()

// One by one: taken apart, the whole of zod would come along into the bundles, with all its languages.
export const maybe = z.optional
export const listOf = z.array
export const oneOf = z.union
export const only = z.literal
export const object = z.strictObject
/** May have more fields than these. */
export const openObject = z.looseObject
/** What else a query has in it is ignored. */
export const query = z.object
export const recordOf = <S extends Shape>(value: S) => z.record(z.string(), value)

export const text = z.string('must be a string')
export const whole = z.int('must be a whole number')
export const flag = z.boolean('must be true or false')
export const time = z.iso.datetime('must be a time, as in 2026-01-31T12:00:00.000Z')
export const anything = z.unknown() as unknown as Shape<Json>
export const anObject = z.looseObject({}) as unknown as Shape<{ [key: string]: unknown }>

export function among<const T extends string>(values: readonly T[]): Shape<T> {
  return z.enum(values as readonly [T, ...T[]], `must be one of ${values.join(', ')}`) as unknown as Shape<T>
}

/** Of a union: a Record, so that a new member does not compile until it is listed. */
export function eachOf<T extends string>(members: Record<T, true>): Shape<T> {
  return among(Object.keys(members) as T[])
}

/** `extent`: what the largest number means, in words. */
export function wholeFrom(least: number, most: number = Number.MAX_SAFE_INTEGER, extent?: string): Shape<number> {
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`
  const message = `must be a whole number ${range}${extent ?? ''}`
  return z.int(message).check(z.minimum(least, message), z.maximum(most, message)) as unknown as Shape<number>
}

/** A shape that is more exact than types are. `test` throws an InvalidInputError; `schema` is for the document. */
export function tested<T>(test: (value: T) => unknown, schema: Meta): Shape<T> {
  return noted(
    z.custom<T>((value) => refusalBy(test, value as T) === undefined, {
      error: ({ input }) => refusalBy(test, input as T) ?? 'is not valid',
    }) as unknown as Shape<T>,
    schema,
  )
}

function refusalBy<T>(test: (value: T) => unknown, value: T): string | undefined {
  try {
    test(value)
    return undefined
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    return error.message
  }
}

/** The same as `tested`, for a test that has one message. */
export function fitting<T>(isGood: (value: unknown) => boolean, message: string, schema: Meta): Shape<T> {
  return noted(z.custom<T>(isGood, message) as unknown as Shape<T>, schema)
}

/** A shape with a note of its own for the document. */
export function noted<S extends Shape>(shape: S, note: Meta | string): S {
  const meta = typeof note === 'string' ? { description: note } : note
  const { id: _, ...before } = notes.get(shape) ?? {}
  const own = shape.clone()
  notes.add(own, { ...before, ...meta })
  return own as S
}

/** A shape with a name in the document, which other shapes refer to. */
export function named<S extends Shape>(id: string, shape: S): S {
  notes.add(shape, { ...notes.get(shape), id })
  return shape
}

interface RequestWords<K extends string> {
  /** Behind the words for a field that is not known. */
  hint?: string
  /** The order in which people read the fields, where that is not the order in which they are checked. */
  known?: readonly K[]
  description?: string
}

/** The body of a request, with the words for what is not known in it. Problems come in the order of the fields. */
export function request<S extends z.core.$ZodShape>(
  id: string,
  fields: S,
  { hint = '', known: names = Object.keys(fields), description }: RequestWords<keyof S & string> = {},
): z.ZodMiniObject<S, z.core.$strict> {
  const known = names.join(', ')
  const shape = z.strictObject(fields, {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? `is not known here; known: ${known}${hint}`
        : `must be a JSON object with the fields ${known}`,
  })
  return named(id, description === undefined ? shape : noted(shape, description))
}
