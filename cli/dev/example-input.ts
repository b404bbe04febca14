import type { AnyWorkflow } from '../../sdk/index.ts'
import { jsonSchemaOf } from '../../sdk/schema.ts'

type JsonSchema = {
  type?: string
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

/** An input to try a workflow with, made from its schema; undefined when the schema cannot say what it wants. */
export function exampleInput({ options: { input } }: AnyWorkflow): unknown {
  const schema = jsonSchemaOf(input)
  return schema && exampleOf(schema)
}

function exampleOf(schema: JsonSchema): unknown {
  if ('const' in schema) return schema.const
  const [given] = [...(schema.examples ?? []), ...(schema.enum ?? [])]
  if (given !== undefined) return given
  if (schema.default !== undefined) return schema.default
  if (schema.anyOf?.[0]) return exampleOf(schema.anyOf[0])
  switch (schema.type) {
    case 'string':
      return 'Ada'
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
