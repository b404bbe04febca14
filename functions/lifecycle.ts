import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge'
import type { DynamoDBStreamEvent } from 'aws-lambda'
import { inBatchesOf } from '../sdk/worlds/aws/batches.ts'
import { setting } from './environment.ts'
import { readRecord } from './stream-record.ts'

const bus = new EventBridgeClient()
const EventBusName = setting('OVERWINTER_EVENT_BUS')
/** The limit of PutEvents. */
const BATCH = 10

/**
 * Sends the changes in the table's stream to the event bus. The stream has them even if the runner that wrote
 * the journal died right after. A batch that fails is read again, so an event may come twice, with the same
 * `id`.
 */
export async function handler({ Records }: DynamoDBStreamEvent): Promise<void> {
  const events = (await Promise.all(Records.map(readRecord))).flat()
  const entries = events.map(
    ({ type, at, runId, detail }): PutEventsRequestEntry => ({
      EventBusName,
      Source: 'overwinter',
      DetailType: type,
      Time: new Date(at),
      Resources: [`${Records[0]!.eventSourceARN!.replace(/\/stream\/.*$/, '')}/run/${runId}`],
      Detail: JSON.stringify(detail),
    }),
  )
  for (const batch of inBatchesOf(BATCH, entries)) {
    const { FailedEntryCount, Entries = [] } = await bus.send(new PutEventsCommand({ Entries: batch }))
    const refused = Entries.find(({ ErrorCode }) => ErrorCode)
    if (FailedEntryCount)
      throw new Error(
        `the event bus refused ${FailedEntryCount} events: ${refused?.ErrorCode} ${refused?.ErrorMessage}`,
      )
  }
}
