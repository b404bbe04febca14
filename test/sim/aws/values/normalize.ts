import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { invalid } from '../errors.ts'
import { type Attributes, typeOf } from './attribute-value.ts'
import { isEqual, membersOf } from './compare.ts'
import { normalNumber } from './number.ts'

const DEEPEST = 32

/** A value as DynamoDB takes it in: numbers in their one writing, everything else refused or as it is. */
export function normalize(value: AttributeValue, depth = 1): AttributeValue {
  if (value.S !== undefined) return value
  if (value.N !== undefined) {
    const N = normalNumber(value.N)
    return N === value.N ? value : { N }
  }
  if (value.L || value.M) {
    // One level more than the deepest container: its members.
    if (depth > DEEPEST)
      throw invalid(
        'Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit',
      )
    return value.L
      ? { L: value.L.map((member) => normalize(member, depth + 1)) }
      : { M: normalizeAll(value.M!, depth + 1) }
  }
  if (value.SS || value.NS || value.BS) return normalSet(value)
  if (value.NULL === false)
    throw invalid('One or more parameter values were invalid: Null attribute value types must have the value of true')
  if (Object.keys(value).length === 0)
    throw invalid('Supplied AttributeValue is empty, must contain exactly one of the supported datatypes')
  return value
}

export function normalizeAll(attributes: Attributes, depth = 1): Attributes {
  const normal: Attributes = {}
  for (const name in attributes) normal[name] = normalize(attributes[name]!, depth)
  return normal
}

function normalSet(value: AttributeValue): AttributeValue {
  const set = value.NS ? { NS: value.NS.map(normalNumber) } : value
  const members = membersOf(set)
  const kind = { SS: 'string', NS: 'number', BS: 'binary' }[typeOf(set) as 'SS' | 'NS' | 'BS']
  if (members.length === 0) throw invalid(`One or more parameter values were invalid: An ${kind} set  may not be empty`)
  if (members.some((member, i) => members.slice(0, i).some((other) => isEqual(member, other)))) {
    if (set.NS) throw invalid('Input collection contains duplicates')
    throw invalid(
      `One or more parameter values were invalid: Input collection [${(set.SS ?? []).join(', ')}] contains duplicates`,
    )
  }
  return set
}
