import { QueryCommand } from '@aws-sdk/lib-dynamodb'
import type { Aws } from './context.ts'
import { REMOVAL_SHARDS, REMOVALS, SHARDS, timeOf, timeText, trouble } from './keys.ts'
import { merge, shardsOf } from './shards.ts'

/** The state of the table now, which no single event shows. */
export interface Gauges {
  /** Runs that are stuck. */
  stuck: number
  /** When the oldest overdue removal was due. */
  oldestRemovalAt: number | undefined
}

/** One query for each shard: 20 in all, which read next to nothing where all is well. */
export async function gauges(aws: Aws): Promise<Gauges> {
  const [stuck, oldestRemovalAt] = await Promise.all([countStuck(aws), oldestRemoval(aws)])
  return { stuck, oldestRemovalAt }
}

/** One page of each shard counts some ten thousand, which is enough. */
async function countStuck(aws: Aws): Promise<number> {
  const counts = await Promise.all(
    Array.from({ length: SHARDS }, async (_, shard) => {
      const { Count = 0 } = await aws.db.send(
        new QueryCommand({
          TableName: aws.table,
          IndexName: 'due',
          Select: 'COUNT',
          KeyConditionExpression: '#dueShard = :shard',
          ExpressionAttributeNames: { '#dueShard': 'dueShard' },
          ExpressionAttributeValues: { ':shard': `${trouble('stuck')}${shard}` },
        }),
      )
      return Count
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function oldestRemoval(aws: Aws): Promise<number | undefined> {
  const range = { from: '0', to: `${timeText(aws.clock.now())}$`, newestFirst: false, pageSize: 1 }
  for await (const { at } of merge(aws, shardsOf('due', REMOVALS, undefined, REMOVAL_SHARDS), range, {
    left: REMOVAL_SHARDS,
  }))
    return timeOf(at)
  return undefined
}
