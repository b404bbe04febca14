import type {
  BatchGetItemInput,
  BatchGetItemOutput,
  BatchWriteItemInput,
  BatchWriteItemOutput,
  KeysAndAttributes,
  WriteRequest,
} from '@aws-sdk/client-dynamodb'
import { invalid } from '../errors.ts'
import type { Attributes } from '../values/attribute-value.ts'
import { projector } from './get.ts'
import { checkedKey } from './item-checks.ts'
import { keyText, type Table } from './table.ts'
import { planDelete, planPut } from './write.ts'

const MOST_READS = 100
const MOST_WRITES = 25
const MOST_READ_BYTES = 16 * 1_048_576

type TableOf = (name: string | undefined) => Table
type IsLeft = () => boolean

/** Each part stands for itself; `isLeft` says which of them DynamoDB was too busy for. */
export function batchGet(
  { RequestItems = {} }: BatchGetItemInput,
  tableOf: TableOf,
  isLeft: IsLeft,
): BatchGetItemOutput {
  const requests = Object.entries(RequestItems)
  const asked = requests.reduce((sum, [, { Keys = [] }]) => sum + Keys.length, 0)
  if (asked === 0) throw invalid('The batch get request list for a table cannot be null or empty')
  if (asked > MOST_READS) throw invalid('Too many items requested for the BatchGetItem call')
  const Responses: Record<string, Attributes[]> = {}
  const UnprocessedKeys: Record<string, KeysAndAttributes> = {}
  let bytes = 0
  for (const [name, request] of requests) {
    const table = tableOf(name)
    const keys = (request.Keys ?? []).map((key) => checkedKey(table.schema, key))
    refuseRepeats(table, keys)
    const project = projector(request)
    const items: Attributes[] = (Responses[name] = [])
    const left: Attributes[] = []
    const lag = table.lag(request.ConsistentRead)
    for (const [i, key] of keys.entries()) {
      const version = table.read(key, lag)
      table.charge(version?.size ?? 0, request.ConsistentRead)
      const isFirst = bytes === 0 && i === 0
      if (!isFirst && (bytes + (version?.size ?? 0) > MOST_READ_BYTES || isLeft())) left.push(key)
      else if (version?.item) {
        bytes += version.size
        items.push(project(version.item))
      }
    }
    if (left.length > 0) UnprocessedKeys[name] = { ...request, Keys: left }
  }
  return { Responses, UnprocessedKeys }
}

export function batchWrite(
  { RequestItems = {} }: BatchWriteItemInput,
  tableOf: TableOf,
  isLeft: IsLeft,
): BatchWriteItemOutput {
  const requests = Object.entries(RequestItems)
  const asked = requests.reduce((sum, [, parts]) => sum + parts.length, 0)
  if (asked === 0) throw invalid('The batch write request list for a table cannot be null or empty')
  if (asked > MOST_WRITES) throw invalid('Too many items requested for the BatchWriteItem call')
  // All of it is checked before any of it is written.
  const planned = requests.map(([name, parts]) => {
    const table = tableOf(name)
    const writes = parts.map((part) => ({ part, write: planPart(table, part) }))
    refuseRepeats(
      table,
      writes.map(({ write }) => write.key),
    )
    return { name, table, writes }
  })
  const UnprocessedItems: Record<string, WriteRequest[]> = {}
  let isFirst = true
  for (const { name, table, writes } of planned) {
    for (const { part, write } of writes) {
      if (!isFirst && isLeft()) (UnprocessedItems[name] ??= []).push(part)
      else table.write(write.key, write.next(undefined))
      isFirst = false
    }
  }
  return { UnprocessedItems }
}

function planPart(table: Table, { PutRequest, DeleteRequest }: WriteRequest) {
  if (PutRequest) return planPut(table, { Item: PutRequest.Item })
  if (DeleteRequest) return planDelete(table, { Key: DeleteRequest.Key })
  throw invalid(
    'Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes',
  )
}

function refuseRepeats({ schema }: Table, keys: Attributes[]): void {
  const texts = new Set(keys.map((key) => `${keyText(key[schema.partition]!)}\n${keyText(key[schema.sort]!)}`))
  if (texts.size < keys.length) throw invalid('Provided list of item keys contains duplicates')
}
