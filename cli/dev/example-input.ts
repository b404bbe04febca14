import { jsonSchemaOf } from '../../sdk/base/schema.ts'
import type { AnyWorkflow } from '../../sdk/index.ts'

type JsonSchema = {
  type?: string
  format?: string
  minLength?: number
  maxLength?: number
  const?: unknown
  enum?: unknown[]
  default?: unknown
  examples?: unknown[]
  anyOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
}

/** An example input made from a workflow's schema; undefined if the schema cannot be described. */
export function exampleInput({ options: { input } }: AnyWorkflow): unknown {
  const schema = jsonSchemaOf(input)
  return schema && exampleOf(schema)
}

/** Texts with a fixed form. */
const FORMATS: Record<string, string> = {
  email: 'ada@example.com',
  uri: 'https://example.com',
  url: 'https://example.com',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
  date: '2030-01-31',
  time: '12:00:00',
  'date-time': '2030-01-31T12:00:00Z',
  duration: 'PT1H',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
}

function textOf({ format = '', minLength = 0, maxLength = Number.POSITIVE_INFINITY }: JsonSchema): string {
  return FORMATS[format] ?? 'Ada'.padEnd(minLength, 'a').slice(0, maxLength)
}

function exampleOf(schema: JsonSchema): unknown {
  if ('const' in schema) return schema.const
  const [given] = [...(schema.examples ?? []), ...(schema.enum ?? [])]
  if (given !== undefined) return given
  if (schema.default !== undefined) return schema.default
  if (schema.anyOf?.[0]) return exampleOf(schema.anyOf[0])
  switch (schema.type) {
    case 'string':
      return textOf(schema)
    case 'number':
    case 'integer':
      return Math.min(Math.max(5, schema.minimum ?? 5, (schema.exclusiveMinimum ?? 4) + 1), schema.maximum ?? 5)
    case 'boolean':
      return true
    case 'array':
      return schema.items ? [exampleOf(schema.items)] : []
    case 'object': {
      const { properties = {}, required = [] } = schema
      return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {})]))
    }
    default:
      return null
  }
}
