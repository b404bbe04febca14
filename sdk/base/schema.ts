import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { FatalError, InvalidInputError, type Problem } from './errors.ts'
import { canonicalJson, type Json, pathStep } from './json.ts'
import { encode, encodeIfPossible } from './values.ts'

/** Any Standard Schema: zod, valibot, arktype, … */
export type Schema<In = unknown, Out = In> = StandardSchemaV1<In, Out>
export type SchemaIn<S> = S extends StandardSchemaV1<infer In, unknown> ? In : unknown
export type SchemaOut<S> = S extends StandardSchemaV1<unknown, infer Out> ? Out : unknown

export type Validated<T> = { ok: true; value: T } | { ok: false; problems: Problem[] }

/** Every problem at once, each with its path, so that a caller can mend all of them. */
export async function validate<T>(schema: Schema<unknown, T> | undefined, value: unknown): Promise<Validated<T>> {
  if (!schema) return { ok: true, value: value as T }
  return judged(await schema['~standard'].validate(value))
}

/** The same for each of a list. */
export async function validateEach<T>(
  schema: Schema<unknown, T> | undefined,
  values: readonly unknown[],
): Promise<Validated<T[]>> {
  const all = await Promise.all(values.map((value) => validate(schema, value)))
  const problems = all.flatMap((each, i) =>
    each.ok ? [] : each.problems.map(({ path, message }) => ({ path: `$[${i}]${path.slice(1)}`, message })),
  )
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, value: all.map((each) => (each as { value: T }).value) }
}

function judged<T>(result: StandardSchemaV1.Result<T>): Validated<T> {
  if (!result.issues) return { ok: true, value: result.value }
  return { ok: false, problems: result.issues.map((issue) => ({ path: jsonPath(issue.path), message: issue.message })) }
}

export async function validateOrThrow<T>(
  schema: Schema<unknown, T> | undefined,
  value: unknown,
  what: string,
): Promise<T> {
  return valueOrThrow(await validate(schema, value), what)
}

/** In the middle of workflow code, which may wait for nothing but its own operations. */
export function validateNow<T>(schema: Schema<unknown, T> | undefined, value: unknown, what: string): T {
  const checked = validateIfNow(schema, value)
  if (!checked)
    throw new FatalError(
      `${what} has a schema that needs time to look at it (an async refinement, say). Check that in a step before`,
    )
  return valueOrThrow(checked, what)
}

/** Undefined for a schema that needs time to look. */
export function validateIfNow<T>(schema: Schema<unknown, T> | undefined, value: unknown): Validated<T> | undefined {
  if (!schema) return { ok: true, value: value as T }
  const result = schema['~standard'].validate(value)
  return result instanceof Promise ? undefined : judged(result)
}

function valueOrThrow<T>(result: Validated<T>, what: string): T {
  if (!result.ok)
    throw new InvalidInputError(
      `${what} does not fit its schema; change what is listed here and try again`,
      result.problems,
    )
  return result.value
}

function jsonPath(path: readonly (PropertyKey | StandardSchemaV1.PathSegment)[] | undefined): string {
  const keys = (path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
  return `$${keys.map((key) => pathStep(typeof key === 'symbol' ? String(key) : key)).join('')}`
}

/**
 * What the schema takes, as JSON Schema; undefined where it cannot say so: a date, a transformation, a library that
 * has no such thing.
 */
export function jsonSchemaOf(schema: Schema | undefined): Record<string, unknown> | undefined {
  const { jsonSchema } = (schema?.['~standard'] ?? {}) as Partial<StandardJSONSchemaV1.Props>
  try {
    return jsonSchema?.input({ target: 'draft-2020-12' })
  } catch {
    return undefined
  }
}

/** An input as a run keeps it. It is parsed once: a default that is random or dated stays what it was. */
export interface Accepted {
  input: Json | undefined
  /** What the schema made of it, where that is something else. */
  parsed?: Json
  /** What the schema makes of it cannot be stored, and is made anew at every wake. */
  reparse?: true
}

/** Throws if the input cannot be stored, or does not fit the schema. Nothing has been written then. */
export async function accept(schema: Schema | undefined, input: unknown, what: string): Promise<Accepted> {
  const kept = encode(input, what)
  if (!schema) return { input: kept }
  const value = await validateOrThrow(schema, input, what)
  const made = encodeIfPossible(value)
  if (!made) return { input: kept, reparse: true }
  const { json: parsed } = made
  return parsed === undefined || canonicalJson(parsed) === canonicalJson(kept)
    ? { input: kept }
    : { input: kept, parsed }
}
