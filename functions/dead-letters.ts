import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { readWake } from '../sdk/worlds/aws/wake-message.ts'
import { eachMessage } from './each-message.ts'
import { awsWorld, log } from './environment.ts'
import { METRIC, metrics } from './metrics.ts'

const world = awsWorld()

/**
 * Parks the run of a wake-up that failed too often, so that it shows as stuck and an operator can retry it.
 * SQS also counts deliveries that Lambda throttled, which no runner saw. A run that no runner has claimed
 * stays due instead, and the sweeper sends it again.
 */
export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  try {
    return await eachMessage(event, (record) => park(record).catch((error: unknown) => keep(record, error)))
  } finally {
    metrics.publish()
  }
}

/** Keeps the message in the queue, which an alarm watches, and logs why. */
function keep({ messageId, body }: SQSRecord, error: unknown): never {
  log('error', `a message stays in the dead-letter queue: ${error}`, { messageId, body })
  throw error
}

/**
 * Throws for messages that stay in the dead-letter queue: garbage, for people to see, and runs that a runner
 * still holds.
 */
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
