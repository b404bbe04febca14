import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import {
  BatchGetCommand,
  type BatchGetCommandInput,
  BatchWriteCommand,
  type BatchWriteCommandInput,
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { inParallel } from '../../rules/procedure.ts'
import { inBatchesOf, untilNothingIsLeft } from './batches.ts'
import type { Aws } from './context.ts'
import { type Expression, namesAndValues } from './expressions.ts'
import { type Key, partition } from './keys.ts'

/**
 * The calls to DynamoDB, each in one place. Reads are strongly consistent unless the caller accepts
 * a stale answer.
 */

export async function getItem<T extends Key>(aws: Aws, key: Key): Promise<T | undefined> {
  const { Item } = await aws.db.send(new GetCommand({ TableName: aws.table, Key: key, ConsistentRead: true }))
  return Item as T | undefined
}

const GET_BATCH = 100

/**
 * Many items, in the order asked for; undefined for one that does not exist. An eventually
 * consistent read costs half.
 */
export async function getItems<T extends Key>(
  aws: Aws,
  keys: readonly Key[],
  ConsistentRead = true,
): Promise<(T | undefined)[]> {
  const found = new Map<string, T>()
  // DynamoDB refuses duplicate keys in one request.
  const distinct = [...new Map(keys.map((key) => [`${key.pk} ${key.sk}`, key])).values()]
  await inParallel(inBatchesOf(GET_BATCH, distinct), async (batch) => {
    const requests = { [aws.table]: { Keys: [...batch], ConsistentRead } }
    await untilNothingIsLeft<NonNullable<BatchGetCommandInput['RequestItems']>>(
      aws.clock,
      requests,
      async (RequestItems) => {
        const { Responses, UnprocessedKeys } = await aws.db.send(new BatchGetCommand({ RequestItems }))
        for (const item of (Responses?.[aws.table] ?? []) as T[]) found.set(`${item.pk} ${item.sk}`, item)
        return UnprocessedKeys
      },
    )
  })
  return keys.map(({ pk, sk }) => found.get(`${pk} ${sk}`))
}

const WRITE_BATCH = 25

export async function deleteItems(aws: Aws, keys: readonly Key[]): Promise<void> {
  await inParallel(inBatchesOf(WRITE_BATCH, keys), async (batch) => {
    const requests = { [aws.table]: batch.map(({ pk, sk }) => ({ DeleteRequest: { Key: { pk, sk } } })) }
    await untilNothingIsLeft<NonNullable<BatchWriteCommandInput['RequestItems']>>(
      aws.clock,
      requests,
      async (RequestItems) => {
        return (await aws.db.send(new BatchWriteCommand({ RequestItems }))).UnprocessedItems
      },
    )
  })
}

/** Deletes each item only if the condition holds. */
export async function deleteIf(aws: Aws, keys: readonly Key[], condition: Expression): Promise<void> {
  await inParallel(keys, async ({ pk, sk }) => {
    const { text: ConditionExpression } = condition
    await refusalAsValue(() =>
      aws.db.send(
        new DeleteCommand({ TableName: aws.table, Key: { pk, sk }, ConditionExpression, ...namesAndValues(condition) }),
      ),
    )
  })
}

/** All items of a run from one sort key to another. */
export const queryRange = <T extends Key>(aws: Aws, runId: string, from: string, to: string): Promise<T[]> =>
  queryPartition<T>(aws, partition(runId), from, to)

/** All items of a partition from one sort key to another, page by page. */
export async function queryPartition<T extends Key>(aws: Aws, pk: string, from: string, to: string): Promise<T[]> {
  const items: T[] = []
  let start: Record<string, unknown> | undefined
  do {
    const page = await aws.db.send(
      new QueryCommand({
        TableName: aws.table,
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
        ExpressionAttributeValues: { ':pk': pk, ':from': from, ':to': to },
        ConsistentRead: true,
        ExclusiveStartKey: start,
      }),
    )
    for (const item of page.Items ?? []) items.push(item as T)
    start = page.LastEvaluatedKey
  } while (start)
  return items
}

/**
 * A conditional write, and the item as it stood if the condition did not hold: losing a race costs no second read.
 *
 * The SDK retries a call whose answer was lost. If the first attempt was carried out, it makes the
 * second fail. So each writer leaves a token of its own in the item, and takes a refusal that shows
 * this token as success.
 */
export type Written<T> = { ok: true; item: T } | { ok: false; old: T | undefined }

export async function put(aws: Aws, item: Key & Record<string, unknown>): Promise<void> {
  await aws.db.send(new PutCommand({ TableName: aws.table, Item: item }))
}

export async function putIf<T extends Key>(aws: Aws, item: T, condition: Expression): Promise<Written<T>> {
  return refusalAsValue(async () => {
    await aws.db.send(
      new PutCommand({
        TableName: aws.table,
        Item: item,
        ConditionExpression: condition.text,
        ...namesAndValues(condition),
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    )
    return item
  })
}

/** Returns the item as it is afterwards. */
export async function updateIf<T>(aws: Aws, key: Key, update: Expression, condition: Expression): Promise<Written<T>> {
  return refusalAsValue(async () => {
    const { Attributes } = await aws.db.send(
      new UpdateCommand({
        TableName: aws.table,
        Key: key,
        UpdateExpression: update.text,
        ConditionExpression: condition.text,
        ...namesAndValues(update, condition),
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    )
    return Attributes as T
  })
}

async function refusalAsValue<T>(write: () => Promise<T>): Promise<Written<T>> {
  try {
    return { ok: true, item: await write() }
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error
    return { ok: false, old: error.Item && (unmarshall(error.Item) as T) }
  }
}
