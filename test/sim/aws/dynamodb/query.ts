import type { QueryCommandInput, QueryCommandOutput } from '@aws-sdk/client-dynamodb'
import { invalid } from '../errors.ts'
import { bindCondition, holds } from '../expressions/condition.ts'
import { bindKeyCondition, type KeyRange, type KeySchema } from '../expressions/key-condition.ts'
import { Scope } from '../expressions/placeholders.ts'
import { bindProjection, project } from '../expressions/projection.ts'
import type { PathElement } from '../expressions/syntax.ts'
import type { Attributes } from '../values/attribute-value.ts'
import { compareValues, isEqual } from '../values/compare.ts'
import { normalizeAll } from '../values/normalize.ts'
import type { LateIndex } from './late-index.ts'
import { refuseFilterOnKeys, refuseUnprojected } from './query-checks.ts'
import type { Table } from './table.ts'

const MOST_PAGE_BYTES = 1_048_576

type Output = Omit<QueryCommandOutput, '$metadata'>

/** One page: up to `Limit` items, or as many as it takes to reach 1 MB, counted before the filter. */
export function query(table: Table, input: QueryCommandInput): Output {
  const index = indexOf(table, input)
  const schema: KeySchema = index?.schema ?? table.schema
  if (input.Limit !== undefined && input.Limit < 1) throw invalid('Limit must be greater than or equal to 1')
  if (input.KeyConditionExpression === undefined) {
    throw invalid('Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.')
  }
  const scope = new Scope(input)
  const filter =
    input.FilterExpression === undefined ? undefined : bindCondition('FilterExpression', input.FilterExpression, scope)
  const projection =
    input.ProjectionExpression === undefined ? undefined : bindProjection(input.ProjectionExpression, scope)
  const range = bindKeyCondition(input.KeyConditionExpression, scope, schema)
  scope.refuseUnused()
  if (filter) refuseFilterOnKeys(filter, schema)
  if (index) refuseUnprojected(index.schema, input.Select, filter, projection)
  const start = startOf(table, index, input, range, schema)

  const isForward = input.ScanIndexForward !== false
  const found = index
    ? index.partition(range.partition, isForward, table.settle())
    : table.partition(range.partition, isForward, table.lag(input.ConsistentRead))
  const items: Attributes[] = []
  let [evaluated, bytes, count] = [0, 0, 0]
  for (const { item: candidate, size } of found) {
    const item = candidate!
    if (!range.includes(item[schema.sort]!) || (start && !isBehind(item, start, table, index, isForward))) continue
    bytes += size
    evaluated++
    if (!filter || holds(filter, item)) {
      count++
      items.push(item)
    }
    if (evaluated < (input.Limit ?? Number.POSITIVE_INFINITY) && bytes < MOST_PAGE_BYTES) continue
    table.charge(bytes, input.ConsistentRead)
    return page(items, count, evaluated, keyOf(item, table, index), input, projection)
  }
  table.charge(bytes, input.ConsistentRead)
  return page(items, count, evaluated, undefined, input, projection)
}

function page(
  items: Attributes[],
  Count: number,
  ScannedCount: number,
  LastEvaluatedKey: Attributes | undefined,
  { Select }: QueryCommandInput,
  projection: PathElement[][] | undefined,
): Output {
  const Items = projection ? items.map((item) => project(item, projection)) : items
  return { ...(Select !== 'COUNT' && { Items }), Count, ScannedCount, ...(LastEvaluatedKey && { LastEvaluatedKey }) }
}

function indexOf(table: Table, { IndexName, ConsistentRead }: QueryCommandInput): LateIndex | undefined {
  if (IndexName === undefined) return undefined
  const index = table.indexes.get(IndexName)
  if (!index) throw invalid(`The table does not have the specified index: ${IndexName}`)
  if (ConsistentRead) throw invalid('Consistent reads are not supported on global secondary indexes')
  return index
}

function startOf(
  table: Table,
  index: LateIndex | undefined,
  { ExclusiveStartKey }: QueryCommandInput,
  range: KeyRange,
  schema: KeySchema,
): Attributes | undefined {
  if (!ExclusiveStartKey) return undefined
  const start = normalizeAll(ExclusiveStartKey)
  const names = keyNames(table, index)
  if (Object.keys(start).length !== names.length || names.some((name) => !start[name]))
    throw invalid("Exclusive Start Key must have same size as table's key schema")
  if (!isEqual(start[schema.partition]!, range.partition) || !range.includes(start[schema.sort]!))
    throw invalid('The provided starting key does not match the range key predicate')
  return start
}

function isBehind(
  item: Attributes,
  start: Attributes,
  table: Table,
  index: LateIndex | undefined,
  isForward: boolean,
): boolean {
  const order = index
    ? index.order({ item, size: 0 }, { item: start, size: 0 })
    : compareValues(item[table.schema.sort]!, start[table.schema.sort]!)
  return isForward ? order > 0 : order < 0
}

function keyOf(item: Attributes, table: Table, index: LateIndex | undefined): Attributes {
  return Object.fromEntries(keyNames(table, index).map((name) => [name, item[name]!]))
}

function keyNames(table: Table, index: LateIndex | undefined): string[] {
  return index ? index.startKey : [table.schema.partition, table.schema.sort]
}
