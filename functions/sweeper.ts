import { awsWorld, log } from './environment.ts'
import { METRIC, metrics } from './metrics.ts'

const world = awsWorld()

/** In one go; what is left waits for the next minute. The queue is a buffer, but the sweeper's own time is limited. */
const MOST_AT_ONCE = 10_000

/**
 * I5: a message is only a hint and may get lost, with its schedule or its runner. Whatever should have been looked at by
 * now is told again, as often as it takes, with growing pauses: a run that has moved on meanwhile takes no harm.
 */
export async function handler(): Promise<{ rescued: number }> {
  const overdue = await world.sweep(MOST_AT_ONCE)
  if (overdue.length > 0)
    log('warn', `${overdue.length} overdue runs were sent to the runners again`, { runIds: overdue.slice(0, 20).map(({ runId }) => runId) })
  metrics.add(METRIC.rescues, 'Count', overdue.length)
  metrics.publish()
  return { rescued: overdue.length }
}
