import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidInputError, type Problem } from './engine/errors.ts'
import { pathStep } from './engine/json.ts'

/** Any Standard Schema: zod, valibot, arktype, … */
export type Schema<In = unknown, Out = In> = StandardSchemaV1<In, Out>
export type SchemaIn<S> = S extends StandardSchemaV1<infer In, unknown> ? In : unknown
export type SchemaOut<S> = S extends StandardSchemaV1<unknown, infer Out> ? Out : unknown

export type Validated<T> = { ok: true; value: T } | { ok: false; problems: Problem[] }

/** Every problem at once, each with its path, so that a caller can mend all of them. */
export async function validate<T>(schema: Schema<unknown, T> | undefined, value: unknown): Promise<Validated<T>> {
  if (!schema) return { ok: true, value: value as T }
  const result = await schema['~standard'].validate(value)
  if (!result.issues) return { ok: true, value: result.value }
  return { ok: false, problems: result.issues.map((issue) => ({ path: jsonPath(issue.path), message: issue.message })) }
}

export async function validateOrThrow<T>(schema: Schema<unknown, T> | undefined, value: unknown, what: string): Promise<T> {
  const result = await validate(schema, value)
  if (!result.ok) throw new InvalidInputError(`${what} does not fit its schema`, result.problems)
  return result.value
}

function jsonPath(path: readonly (PropertyKey | StandardSchemaV1.PathSegment)[] | undefined): string {
  const keys = (path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
  return `$${keys.map((key) => pathStep(typeof key === 'symbol' ? String(key) : key)).join('')}`
}
