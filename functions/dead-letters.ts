import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { readWake } from '../sdk/worlds/aws/wake-message.ts'
import { eachMessage } from './each-message.ts'
import { awsWorld, log } from './environment.ts'
import { METRIC, metrics } from './metrics.ts'

const world = awsWorld()

/**
 * A wake-up that no runner could serve: its run is parked as stuck, where people see it and one call revives it. But SQS also counts the times
 * at which Lambda was throttled and no runner saw the message. A run that no runner has claimed stays due, and the sweeper sends it again.
 */
export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  try {
    return await eachMessage(event, (record) => park(record).catch((error: unknown) => keep(record, error)))
  } finally {
    metrics.publish()
  }
}

/** It stays in the queue, which an alarm watches; the log says why. */
function keep({ messageId, body }: SQSRecord, error: unknown): never {
  log('error', `a message stays in the dead-letter queue: ${error}`, { messageId, body })
  throw error
}

/** Throws for what is to stay in the dead-letter queue: garbage for people to see, and runs that somebody still holds. */
async function park({ body, attributes }: SQSRecord): Promise<void> {
  const { runId } = readWake(body)
  const message =
    `its runners failed too often, or died; the last message was sent ${new Date(Number(attributes.SentTimestamp)).toISOString()}. ` +
    `See the runner's log for run '${runId}', fix the cause and retry the run`
  const outcome = await world.store.park(runId, { name: 'DeadLetterError', message }, { ifClaimed: true })
  if (outcome === 'leased') throw new Error(`run '${runId}' is held by a runner; looking again later`)
  if (outcome === 'moved-on') return
  if (outcome === 'unclaimed') {
    log(
      'warn',
      `no runner has taken up run '${runId}': they were throttled, or cannot start. The sweeper sends it again`,
      { runId },
    )
    return
  }
  log('error', `run '${runId}' is stuck: ${message}`, { runId })
  metrics.add(METRIC.parked, 'Count', 1)
}
