import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import type { Aws } from './context.ts'
import { type Key, partition, runKey } from './keys.ts'
import { isExpired, type RunItem } from './run-item.ts'

/** Reads from the partition of one run, strongly consistent. */

export async function getRunItem(aws: Aws, runId: string): Promise<RunItem | undefined> {
  const { Item } = await aws.db.send(new GetCommand({ TableName: aws.table, Key: runKey(runId), ConsistentRead: true }))
  const item = Item as RunItem | undefined
  return item && !isExpired(item, aws.clock.now()) ? item : undefined
}

/** All items from one sort key to another, page by page. */
export async function queryRange<T extends Key>(aws: Aws, runId: string, from: string, to: string, only?: string[]): Promise<T[]> {
  const items: T[] = []
  let start: Record<string, unknown> | undefined
  do {
    const page = await aws.db.send(
      new QueryCommand({
        TableName: aws.table,
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
        ExpressionAttributeValues: { ':pk': partition(runId), ':from': from, ':to': to },
        ...(only && { ProjectionExpression: only.join(', ') }),
        ConsistentRead: true,
        ExclusiveStartKey: start,
      }),
    )
    for (const item of page.Items ?? []) items.push(item as T)
    start = page.LastEvaluatedKey
  } while (start)
  return items
}

export function queryKeys(aws: Aws, runId: string, from: string, to: string): Promise<Key[]> {
  return queryRange(aws, runId, from, to, ['pk', 'sk'])
}
