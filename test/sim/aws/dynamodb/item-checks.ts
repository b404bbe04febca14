import { invalid } from '../errors.ts'
import { emptyKey, type KeySchema } from '../expressions/key-condition.ts'
import { type Attributes, typeOf } from '../values/attribute-value.ts'
import { normalizeAll } from '../values/normalize.ts'
import type { TableSchema } from './schema.ts'

export const MOST_ITEM_BYTES = 409_600
const MOST_PARTITION_KEY_BYTES = 2_048
const MOST_SORT_KEY_BYTES = 1_024

/** The key of a request, checked. */
export function checkedKey(schema: KeySchema, key: Attributes | undefined): Attributes {
  const given = key ? normalizeAll(key) : {}
  if (Object.keys(given).length !== 2 || !given[schema.partition] || !given[schema.sort]) throw mismatch()
  for (const name in given) if (typeOf(given[name]!) !== schema.types[name]) throw mismatch()
  checkKeyValues(schema, given)
  return given
}

/** An item that is put as a whole, checked. */
export function checkedItem(schema: TableSchema, item: Attributes): Attributes {
  const normal = normalizeAll(item)
  for (const name of [schema.partition, schema.sort]) {
    const value = normal[name]
    if (!value) throw invalid(`One or more parameter values were invalid: Missing the key ${name} in the item`)
    const [expected, actual] = [schema.types[name], typeOf(value)]
    if (actual !== expected)
      throw invalid(
        `One or more parameter values were invalid: Type mismatch for key ${name} expected: ${expected} actual: ${actual}`,
      )
  }
  checkKeyValues(schema, normal)
  for (const index of schema.indexes) checkIndexKeys(index, normal)
  return normal
}

/** The keys of indexes that an update has changed. */
export function checkUpdatedIndexKeys(schema: TableSchema, item: Attributes, touched: ReadonlySet<string>): void {
  for (const index of schema.indexes) {
    for (const name of [index.partition, index.sort]) {
      const value = touched.has(name) ? item[name] : undefined
      if (!value) continue
      if (typeOf(value) !== index.types[name]) {
        throw invalid('The update expression attempted to update the secondary index key to unsupported type')
      }
      if (!isEmpty(value)) continue
      throw invalid(
        'One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value.',
      )
    }
  }
}

function checkIndexKeys(index: TableSchema['indexes'][number], item: Attributes): void {
  for (const name of [index.partition, index.sort]) {
    const value = item[name]
    if (!value) continue
    const [expected, actual] = [index.types[name], typeOf(value)]
    if (actual !== expected) {
      throw invalid(
        `One or more parameter values were invalid: Type mismatch for Index Key ${name} Expected: ${expected} Actual: ${actual} IndexName: ${index.name}`,
      )
    }
    if (!isEmpty(value)) continue
    throw invalid(
      `One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: ${index.name}, IndexKey: ${name}`,
    )
  }
}

function checkKeyValues({ partition, sort }: KeySchema, key: Attributes): void {
  for (const name of [partition, sort]) if (isEmpty(key[name]!)) throw emptyKey(name)
  if (bytesOf(key[partition]!) > MOST_PARTITION_KEY_BYTES) {
    throw invalid(
      'One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes',
    )
  }
  if (bytesOf(key[sort]!) > MOST_SORT_KEY_BYTES) {
    throw invalid(
      'One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes',
    )
  }
}

const isEmpty = (value: Attributes[string]): boolean => value.S === '' || value.B?.length === 0
const bytesOf = (value: Attributes[string]): number =>
  value.S !== undefined ? Buffer.byteLength(value.S) : (value.B?.length ?? 0)

function mismatch() {
  return invalid('The provided key element does not match the schema')
}
