export type JsonSchema = { [key: string]: unknown }

/** The field types that a form supports. Everything else is entered as JSON. */
export type Shape =
  | {
      kind: 'text'
      format?: 'date' | 'date-time' | 'email' | 'uri'
      minLength?: number
      maxLength?: number
      pattern?: string
    }
  | { kind: 'number'; isInteger: boolean; min?: number; max?: number }
  | { kind: 'boolean' }
  | { kind: 'choice'; values: readonly unknown[] }
  | { kind: 'object'; fields: readonly Field[] }
  | { kind: 'list'; item: Field }
  | { kind: 'json' }

export interface Field {
  name: string
  shape: Shape
  isRequired: boolean
  title?: string
  help?: string
  initial?: unknown
}

/** A schema may refer to itself; forms end at this depth. */
const DEEPEST = 5
const FORMATS = ['date', 'date-time', 'email', 'uri'] as const

export function fieldOf(
  schema: JsonSchema | undefined,
  name = '',
  isRequired = true,
  root = schema ?? {},
  level = 0,
): Field {
  const seen = simplified(schema ?? {}, root)
  const { title, description, default: initial } = seen as { title?: string; description?: string; default?: unknown }
  return {
    ...{
      name,
      isRequired: isRequired && initial === undefined && !seen.isNullable,
      shape: level > DEEPEST ? { kind: 'json' } : shapeOf(seen, root, level),
    },
    ...(title !== undefined && { title }),
    ...(description !== undefined && { help: description }),
    ...(initial !== undefined && { initial }),
  }
}

/** References resolved, and `null` as one of two options taken as "may be left empty". */
function simplified(schema: JsonSchema, root: JsonSchema, hops = 0): JsonSchema {
  const { $ref, ...rest } = schema
  if (typeof $ref === 'string' && hops < DEEPEST) return simplified({ ...lookUp($ref, root), ...rest }, root, hops + 1)
  const some = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined
  if (!Array.isArray(some)) return schema
  const others = some.filter(({ type }) => type !== 'null')
  if (others.length === 1)
    return { ...simplified(others[0]!, root, hops + 1), ...(others.length < some.length && { isNullable: true }) }
  if (others.every((each) => 'const' in each)) return { enum: others.map((each) => each.const) }
  return schema
}

function lookUp(ref: string, root: JsonSchema): JsonSchema {
  let found: unknown = root
  for (const part of ref.replace(/^#\/?/, '').split('/').filter(Boolean))
    found = (found as Record<string, unknown> | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  return (found as JsonSchema | undefined) ?? {}
}

function shapeOf(schema: JsonSchema, root: JsonSchema, level: number): Shape {
  if ('const' in schema) return { kind: 'choice', values: [schema.const] }
  if (Array.isArray(schema.enum)) return { kind: 'choice', values: schema.enum }
  switch (schema.type) {
    case 'string':
      return textOf(schema)
    case 'number':
    case 'integer':
      return { kind: 'number', isInteger: schema.type === 'integer', ...limitsOf(schema) }
    case 'boolean':
      return { kind: 'boolean' }
    case 'array':
      return typeof schema.items === 'object' && schema.items !== null && !('prefixItems' in schema)
        ? { kind: 'list', item: fieldOf(schema.items as JsonSchema, '', true, root, level + 1) }
        : { kind: 'json' }
    case 'object': {
      const properties = schema.properties as Record<string, JsonSchema> | undefined
      // An object with arbitrary keys cannot be entered field by field.
      if (!properties || Object.keys(properties).length === 0) return { kind: 'json' }
      const required = (schema.required as string[] | undefined) ?? []
      return {
        kind: 'object',
        fields: Object.entries(properties).map(([name, inner]) =>
          fieldOf(inner, name, required.includes(name), root, level + 1),
        ),
      }
    }
    default:
      return { kind: 'json' }
  }
}

function textOf({ format, minLength, maxLength, pattern }: JsonSchema): Shape {
  const known = FORMATS.find((each) => each === format)
  return {
    kind: 'text',
    ...(known && { format: known }),
    ...(typeof minLength === 'number' && { minLength }),
    ...(typeof maxLength === 'number' && { maxLength }),
    ...(typeof pattern === 'string' && !known && { pattern }),
  }
}

/** Zod writes the limits of safe integers, which mean nothing to people. */
function limitsOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, type }: JsonSchema): {
  min?: number
  max?: number
} {
  const step = type === 'integer' ? 1 : Number.MIN_VALUE
  const min =
    typeof minimum === 'number' ? minimum : typeof exclusiveMinimum === 'number' ? exclusiveMinimum + step : undefined
  const max =
    typeof maximum === 'number' ? maximum : typeof exclusiveMaximum === 'number' ? exclusiveMaximum - step : undefined
  return {
    ...(min !== undefined && min > Number.MIN_SAFE_INTEGER && { min }),
    ...(max !== undefined && max < Number.MAX_SAFE_INTEGER && { max }),
  }
}
