import * as entry from 'overwinter-workflows'
import { Intake } from '../sdk/events/intake.ts'
import { Client } from '../sdk/index.ts'
import { lazyClients } from '../sdk/worlds/aws/clients.ts'
import { Objects } from '../sdk/worlds/aws/objects.ts'
import { log, setting } from './environment.ts'
import { EventDeadLetters } from './event-dead-letters.ts'
import { takeDelivery } from './event-delivery.ts'
import { mappingsOf } from './mappings-of.ts'
import { METRIC, metrics } from './metrics.ts'
import { handlers, registry } from './registry.ts'
import { mappingFor, type Subscription } from './subscription.ts'
import { codedWorld } from './world-with-codec.ts'

const subscription = JSON.parse(setting('OVERWINTER_SUBSCRIPTION')) as Subscription
const deadLetters = new EventDeadLetters(
  lazyClients().sqs,
  new Objects(setting('OVERWINTER_BUCKET')),
  setting('OVERWINTER_EVENT_DEAD_LETTERS_URL'),
)

const intake = new Intake({
  client: new Client(codedWorld(), registry, handlers),
  mapping: mappingFor(subscription, () => mappingsOf(entry)),
  patienceMs: subscription.patienceMs,
  async bury(dead) {
    await deadLetters.send(subscription.name, dead)
    log('error', `an event of '${subscription.name}' was put among the dead letters: ${dead.reason}`, {
      eventId: dead.id,
    })
    metrics.add(METRIC.deadEvents, 'Count', 1)
  },
  log,
})

/**
 * The function of one subscription. It applies the mapping to each event, or buries the event with the
 * reason, or lets the source deliver it again.
 */
export async function handler(payload: unknown): Promise<object> {
  try {
    return await takeDelivery(payload, subscription, intake)
  } finally {
    metrics.publish()
  }
}
