import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Attributes } from './attribute-value.ts'
import { numberSize } from './number.ts'

/**
 * What an item counts for, in bytes: names and values in UTF-8, and a little for every list and map.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export function itemSize(item: Attributes): number {
  let size = 0
  for (const name in item) size += Buffer.byteLength(name) + valueSize(item[name]!)
  return size
}

const CONTAINER = 3
const MEMBER = 1

function valueSize(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S)
  if (value.N !== undefined) return numberSize(value.N)
  if (value.B !== undefined) return value.B.byteLength
  if (value.L) return value.L.reduce((sum, member) => sum + valueSize(member) + MEMBER, CONTAINER)
  if (value.M)
    return Object.entries(value.M).reduce(
      (sum, [name, member]) => sum + Buffer.byteLength(name) + valueSize(member) + MEMBER,
      CONTAINER,
    )
  if (value.SS) return value.SS.reduce((sum, member) => sum + Buffer.byteLength(member), 0)
  if (value.NS) return value.NS.reduce((sum, member) => sum + numberSize(member), 0)
  if (value.BS) return value.BS.reduce((sum, member) => sum + member.byteLength, 0)
  return 1
}
