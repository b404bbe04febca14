import type { AttributeValue } from '@aws-sdk/client-dynamodb'

export type Attributes = Record<string, AttributeValue>
export type Type = 'S' | 'N' | 'B' | 'BOOL' | 'NULL' | 'L' | 'M' | 'SS' | 'NS' | 'BS'

/** What `attribute_type` knows, in the order in which DynamoDB lists them. */
export const TYPES: readonly Type[] = ['N', 'BS', 'L', 'B', 'NULL', 'M', 'S', 'SS', 'NS', 'BOOL']

export function typeOf(value: AttributeValue): Type {
  for (const type in value) return type as Type
  throw new Error('an attribute value without a type got past validation')
}
