import type { AttributeValue } from '@aws-sdk/client-dynamodb'

/**
 * Replaces `@aws-sdk/util-dynamodb` in the bundles, as far as the AWS world uses it: plain data, with bytes.
 * Undefined fields are left out. Only our own code gets it (`imports` in package.json).
 */

export function marshall(item: object): Record<string, AttributeValue> {
  return Object.fromEntries(
    Object.entries(item).flatMap(([name, value]) => (value === undefined ? [] : [[name, attributeOf(value)]])),
  )
}

export function unmarshall(item: Record<string, AttributeValue>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(item).map(([name, attribute]) => [name, dataOf(attribute)]))
}

function attributeOf(value: unknown): AttributeValue {
  if (value === null) return { NULL: true }
  switch (typeof value) {
    case 'string':
      return { S: value }
    case 'number':
      return { N: String(value) }
    case 'boolean':
      return { BOOL: value }
  }
  if (value instanceof Uint8Array) return { B: value }
  if (Array.isArray(value)) return { L: value.filter((each) => each !== undefined).map(attributeOf) }
  if (typeof value === 'object') return { M: marshall(value) }
  throw new Error(`an item cannot hold a ${typeof value}`)
}

function dataOf(attribute: AttributeValue): unknown {
  const [kind, value] = Object.entries(attribute)[0]!
  switch (kind) {
    case 'N':
      return Number(value)
    case 'NULL':
      return null
    case 'L':
      return (value as AttributeValue[]).map(dataOf)
    case 'M':
      return unmarshall(value as Record<string, AttributeValue>)
    case 'S':
    case 'BOOL':
    case 'B':
      return value
    default:
      throw new Error(`an item of ours has no attribute of the kind ${kind}`)
  }
}
