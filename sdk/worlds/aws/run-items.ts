import { BatchGetCommand, type BatchGetCommandInput } from '@aws-sdk/lib-dynamodb'
import { inBatchesOf, untilNothingIsLeft } from './batches.ts'
import type { Aws } from './context.ts'
import { inParallel } from './in-parallel.ts'
import { runIdOf, runKey } from './keys.ts'
import type { RunItem } from './run-item.ts'

const BATCH = 100

/** The items of many runs, in the order asked for; undefined for one that is gone. */
export async function getRunItems(aws: Aws, runIds: readonly string[]): Promise<(RunItem | undefined)[]> {
  const found = new Map<string, RunItem>()
  await inParallel(inBatchesOf(BATCH, runIds), async (batch) => {
    for (const item of await getBatch(aws, batch)) found.set(runIdOf(item.pk), item)
  })
  return runIds.map((runId) => found.get(runId))
}

async function getBatch(aws: Aws, runIds: readonly string[]): Promise<RunItem[]> {
  const items: RunItem[] = []
  const requests = { [aws.table]: { Keys: runIds.map(runKey) } }
  await untilNothingIsLeft<NonNullable<BatchGetCommandInput['RequestItems']>>(requests, async (RequestItems) => {
    const { Responses, UnprocessedKeys } = await aws.db.send(new BatchGetCommand({ RequestItems }))
    for (const item of Responses?.[aws.table] ?? []) items.push(item as RunItem)
    return UnprocessedKeys
  })
  return items
}
