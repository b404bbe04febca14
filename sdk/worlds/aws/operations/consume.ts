import { BatchWriteCommand, type BatchWriteCommandInput } from '@aws-sdk/lib-dynamodb'
import { inBatchesOf, untilNothingIsLeft } from '../batches.ts'
import { updateIf } from '../conditional.ts'
import { exists } from '../conditions.ts'
import type { Aws } from '../context.ts'
import { change } from '../expressions.ts'
import { inParallel } from '../in-parallel.ts'
import { AFTER_MESSAGES, FIRST_MESSAGE, type Key, messageKey, partition } from '../keys.ts'
import type { MessageItem } from '../message-item.ts'
import { queryRange } from '../partition.ts'

/** The journal has their content; what stays is enough to recognise a repeat. */
export async function markConsumed(aws: Aws, runId: string, messageIds: readonly string[]): Promise<void> {
  // Only where there is one: the engine also names messages that it made up itself.
  await inParallel(messageIds, (id) => updateIf(aws, { pk: partition(runId), sk: messageKey(id) }, change({ body: undefined }), exists))
}

/** Longer than any SDK goes on repeating a call. */
const NO_MORE_REPEATS_MS = 900_000
const BATCH = 25

/** So that a run which goes on for ever, generation by generation, does not drag all its mail along. */
export async function removeConsumed(aws: Aws, runId: string, now: number): Promise<void> {
  const messages = await queryRange<MessageItem>(aws, runId, FIRST_MESSAGE, AFTER_MESSAGES)
  const old = messages.filter(({ body, at }) => body === undefined && !(at > now - NO_MORE_REPEATS_MS))
  await inParallel(inBatchesOf(BATCH, old), (batch) => deleteBatch(aws, batch))
}

async function deleteBatch(aws: Aws, keys: readonly Key[]): Promise<void> {
  const requests = { [aws.table]: keys.map(({ pk, sk }) => ({ DeleteRequest: { Key: { pk, sk } } })) }
  await untilNothingIsLeft<NonNullable<BatchWriteCommandInput['RequestItems']>>(requests, async (RequestItems) => {
    const { UnprocessedItems } = await aws.db.send(new BatchWriteCommand({ RequestItems }))
    return UnprocessedItems
  })
}
