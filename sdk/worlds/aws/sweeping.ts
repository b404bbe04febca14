import type { LogSink } from '../../ports/world.ts'
import { inParallel } from '../../rules/procedure.ts'
import type { Aws } from './context.ts'
import { change } from './expressions.ts'
import { updateIf } from './items.ts'
import { dueIndex, REMOVAL_SHARDS, REMOVALS, runKey, timeText } from './keys.ts'
import { type Overdue, overdueRuns } from './list.ts'
import { removeOnTime } from './removal.ts'
import type { AwsRun } from './run-item.ts'
import { inChunks, merge, shardsOf } from './shards.ts'

const FIRST_PAUSE_MS = 60_000
/** Short enough for a run whose runner died after many sends. */
const LONGEST_PAUSE_MS = 900_000

/**
 * How long the sweeper waits before it sends a run again: more messages do not shorten a queue that
 * is behind.
 */
export const pauseAfter = (sent: number): number => Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** sent)

/**
 * The sweeper's function has 55 seconds. Removals get what the wake-ups leave of them, minus time
 * for the last runs.
 */
const REMOVING_MS = 45_000

export interface Sweeping {
  tell(overdue: Overdue[]): Promise<void>
  checkLimiters(): Promise<void>
  erase(run: AwsRun): Promise<unknown>
  log: LogSink
}

/**
 * Sends overdue runs to the runners, up to a limit, and moves each in the due index to the time of
 * its next send. So a sweep reads only runs it has to send. A sweep that dies in between sends some
 * of them again.
 *
 * Runs that are due for removal are removed on the way.
 */
export async function sweep(
  aws: Aws,
  { tell, checkLimiters, erase, log }: Sweeping,
  limit: number,
): Promise<Overdue[]> {
  const now = aws.clock.now()
  const overdue = await overdueRuns(aws, now, limit)
  await tell(overdue)
  await inParallel(overdue, ({ runId, dueKey, sent }) =>
    // The condition fails if a runner has released the run since, and so set its place in the index
    // itself.
    updateIf(aws, runKey(runId), change({ ...dueIndex(runId, now + pauseAfter(sent)), told: sent + 1 }), {
      text: '#dueKey = :seen',
      values: { ':seen': dueKey },
    }),
  )
  await checkLimiters()
  await removeWhatIsDue(aws, erase, log, now)
  return overdue
}

/** Removes runs that are due for it, oldest first, as far as there is time: the next sweep goes on. */
async function removeWhatIsDue(aws: Aws, erase: Sweeping['erase'], log: LogSink, now: number): Promise<void> {
  const range = { from: '0', to: `${timeText(now)}$`, newestFirst: false, pageSize: 100 }
  for await (const entries of inChunks(
    merge(aws, REMOVAL_PARTITIONS, range, { left: Number.POSITIVE_INFINITY }),
    100,
  )) {
    await removeOnTime(
      aws,
      entries.map(({ runId, sk }) => ({ ...runKey(runId), sk })),
      erase,
      // It is due again in a minute, and must not block the removal of others.
      (runId, error) =>
        log('error', `run '${runId}' is past its retention and could not be removed: ${error}`, { runId }),
    )
    if (aws.clock.now() - now > REMOVING_MS) return
  }
}

const REMOVAL_PARTITIONS = shardsOf('due', REMOVALS, undefined, REMOVAL_SHARDS)
