import { awsWorld, log } from './environment.ts'
import { METRIC, metrics } from './metrics.ts'

const world = awsWorld()

/**
 * The most runs of one sweep; the rest waits for the next minute. The queue is a buffer, but the sweeper's
 * own time is limited.
 */
const MOST_AT_ONCE = 10_000

/**
 * Reading the gauges takes 20 queries, so they are not read every minute: two queries per sweep on average.
 * The alarms' windows are longer.
 */
const GAUGE_EVERY_MS = 600_000

let gaugedAt = Number.NEGATIVE_INFINITY

/**
 * I5: a message is only a hint and may get lost, with its schedule or its runner. The sweeper sends every
 * overdue run again, as often as needed, with growing pauses. A run that has moved on meanwhile is not
 * affected.
 */
export async function handler(): Promise<{ rescued: number }> {
  try {
    // Before the sweep, which removes runs past their retention.
    await gauge().catch((error: unknown) =>
      log('error', `the sweeper could not count the runs that are stuck: ${error}`, {}),
    )
    const overdue = await world.sweep(MOST_AT_ONCE, (unchecked) =>
      metrics.add(METRIC.uncheckedLimiters, 'Count', unchecked),
    )
    if (overdue.length > 0)
      log('warn', `${overdue.length} overdue runs were sent to the runners again`, {
        runIds: overdue.slice(0, 20).map(({ runId }) => runId),
      })
    metrics.add(METRIC.rescues, 'Count', overdue.length)
    addAge(METRIC.oldestOverdueRun, Math.min(...overdue.map(({ at }) => at)))
    return { rescued: overdue.length }
  } finally {
    metrics.publish()
  }
}

async function gauge(): Promise<void> {
  const now = world.clock.now()
  if (now - gaugedAt < GAUGE_EVERY_MS) return
  const { stuck, oldestRemovalAt } = await world.gauges()
  gaugedAt = now
  if (stuck > 0) metrics.add(METRIC.stuckRuns, 'Count', stuck)
  addAge(METRIC.oldestOverdueRemoval, oldestRemovalAt)
}

/** CloudWatch bills a metric for each hour in which it is written, so zeros are not written. */
function addAge(name: string, since = Number.POSITIVE_INFINITY): void {
  const seconds = Math.round((world.clock.now() - since) / 1_000)
  if (seconds > 0) metrics.add(name, 'Seconds', seconds)
}
