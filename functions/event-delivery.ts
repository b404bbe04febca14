import type { SQSBatchResponse } from 'aws-lambda'
import { type Intake, type Outcome, takeBatch } from '../sdk/events/intake.ts'
import { arrivalsOf } from './event-records.ts'
import type { Subscription } from './subscription.ts'

/**
 * Takes a source's delivery, and answers which events it must deliver again. Queues and streams get a list;
 * other sources deliver one event at a time, and again when the function fails. If all events of a batch
 * fail, the function fails too, which an alarm watches.
 */
export async function takeDelivery(
  payload: unknown,
  subscription: Subscription,
  intake: Pick<Intake, 'take'>,
): Promise<SQSBatchResponse | Outcome> {
  const arrivals = arrivalsOf(payload, subscription)
  const outcomes = await takeBatch(arrivals, (arrival) => intake.take(arrival))
  const again = arrivals.flatMap(({ itemId }, i) => (outcomes[i]!.state === 'again' ? [itemId] : []))
  const isAllTrouble = outcomes.every((outcome) => outcome.state === 'again' && outcome.isTrouble)
  if (again.length > 0 && (isAllTrouble || again.includes(undefined))) throw new Error(whyAgain(outcomes))
  const isSingle = arrivals.length === 1 && arrivals[0]!.itemId === undefined
  return isSingle ? outcomes[0]! : { batchItemFailures: again.map((itemId) => ({ itemIdentifier: itemId! })) }
}

function whyAgain(outcomes: Outcome[]): string {
  const reasons = outcomes.flatMap((outcome) => (outcome.state === 'again' ? [outcome.reason] : []))
  return `${reasons.length} of ${outcomes.length} events could not be taken, and are to come again: ${reasons[0]}`
}
