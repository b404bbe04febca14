import { MetricUnit } from '@aws-lambda-powertools/metrics'
import type { SQSBatchResponse } from 'aws-lambda'
import * as entry from 'overwinter-workflows'
import { type DeadEvent, Intake, type Outcome, takeBatch } from '../sdk/events/intake.ts'
import { Client } from '../sdk/index.ts'
import { awsClients } from '../sdk/worlds/aws/clients.ts'
import { Objects } from '../sdk/worlds/aws/objects.ts'
import { SignedFetch } from '../sdk/worlds/aws/signed-fetch.ts'
import { awsWorld, log, setting } from './environment.ts'
import { EventDeadLetters } from './event-dead-letters.ts'
import { arrivalsOf } from './event-records.ts'
import { mappingsOf } from './mappings-of.ts'
import { METRIC, metrics } from './metrics.ts'
import { handlers, registry } from './registry.ts'
import { mappingFor, type Subscription } from './subscription.ts'

const subscription = JSON.parse(setting('OVERWINTER_SUBSCRIPTION')) as Subscription
const { sqs, dynamodb } = awsClients()
const objects = new Objects(new SignedFetch(dynamodb), setting('OVERWINTER_BUCKET'))
const deadLetters = new EventDeadLetters(sqs, objects, setting('OVERWINTER_EVENT_DEAD_LETTERS_URL'))
const intake = new Intake({
  client: new Client(awsWorld(), registry, handlers),
  mapping: mappingFor(subscription, () => mappingsOf(entry)),
  patienceMs: subscription.patienceMs,
  bury,
  log,
})

/** For one subscription: each event does what its mapping says, is put among the dead letters with the reason, or comes again. */
export async function handler(payload: unknown): Promise<SQSBatchResponse | Outcome> {
  const arrivals = arrivalsOf(payload, subscription)
  try {
    const outcomes = await takeBatch(arrivals, (arrival) => intake.take(arrival))
    const again = arrivals.filter((_, i) => outcomes[i]!.state === 'again')
    // Those who bring one event bring it again when the function fails. So do the others, and an alarm watches for a function that does nothing else.
    const isAllTrouble = outcomes.every((outcome) => outcome.state === 'again' && outcome.isTrouble)
    const isByItem = again.every(({ itemId }) => itemId !== undefined)
    if (again.length > 0 && (isAllTrouble || !isByItem)) throw new Error(whyOf(outcomes))
    return arrivals.length === 1 && arrivals[0]!.itemId === undefined
      ? outcomes[0]!
      : { batchItemFailures: again.map(({ itemId }) => ({ itemIdentifier: itemId! })) }
  } finally {
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics()
  }
}

async function bury(dead: DeadEvent): Promise<void> {
  await deadLetters.send(subscription.name, dead)
  log('error', `an event of '${subscription.name}' was put among the dead letters: ${dead.reason}`, { eventId: dead.id })
  metrics.addMetric(METRIC.deadEvents, MetricUnit.Count, 1)
}

const whyOf = (outcomes: Outcome[]): string =>
  outcomes.flatMap((outcome) => (outcome.state === 'again' ? [outcome.reason] : [])).find((reason) => reason !== '') ?? 'an event is to come again'
