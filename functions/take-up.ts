import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { coded } from 'overwinter-coding'
import { traced } from 'overwinter-tracing'
import { StoredWorkflows } from '../sdk/definitions/stored-workflows.ts'
import { runOnce } from '../sdk/engine/run-loop.ts'
import { followCode } from '../sdk/flow/operating/changing-limits.ts'
import { readWake } from '../sdk/worlds/aws/wake-message.ts'
import { counted } from './counting.ts'
import { eachMessage } from './each-message.ts'
import { awsWorld, leaseMs, log, mostDeaths } from './environment.ts'
import { metrics } from './metrics.ts'
import { countVisit } from './outcome-metrics.ts'
import { handlers, logger, registry } from './registry.ts'
import { startingPaused } from './start-paused.ts'

/** While a deployment is under way, code that is not here may be in the next runner that is asked. */
const UNKNOWN_DELAY_MS = 5_000

// Innermost, what is stored is traced: where a codec hides what errors say, so do spans.
const { world: tracedWorld, flush } = traced(awsWorld(logger))
const { world, take } = counted(coded(tracedWorld))
const workflows = new StoredWorkflows(world, registry, handlers)
const beginPaused = startingPaused(world)
let following: Promise<void> | undefined

/** Each message says that a run is due. Those that fail come back by themselves, the others are done with. */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  try {
    await beginPaused()
    await (following ??= followCode(world, registry.all()).catch(tryAgain))
    const response = await eachMessage(event, (record) => takeUp(record, context))
    // An invocation that did nothing but fail counts as an error of the function, which an alarm watches.
    if (response.batchItemFailures.length === event.Records.length)
      throw new Error('none of these runs could be taken further; the log says why, run by run')
    return response
  } finally {
    await flush?.()
    metrics.publish()
  }
}

/** Runs go on by the limits that are on record; the next invocation looks again. */
function tryAgain(error: unknown): void {
  following = undefined
  log('warn', `the limits of this code could not be put on record: ${error}`, {})
}

async function takeUp({ body, messageId }: SQSRecord, context: Context): Promise<void> {
  const deadline = Date.now() + context.getRemainingTimeInMillis()
  try {
    const wake = readWake(body)
    // A schedule's message comes early on purpose; the rest of the wait is a delayed message.
    if (!(await world.wakeups.isDue(wake))) return
    const lag = Date.now() - wake.at
    const outcome = await runOnce(world, workflows, wake.runId, {
      lease: { owner: context.awsRequestId, ms: leaseMs },
      deadline,
      mostDeaths,
      unknownDelayMs: UNKNOWN_DELAY_MS,
    })
    countVisit(outcome, lag, take(wake.runId))
  } catch (error) {
    log('error', `a wake-up could not be served: ${error}`, {
      body,
      messageId,
      stack: error instanceof Error ? error.stack : undefined,
    })
    throw error
  }
}
