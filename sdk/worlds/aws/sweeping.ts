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
/** Short enough for a run whose runner has died after it was told so often. */
const LONGEST_PAUSE_MS = 900_000

/** How long a run that was told is given before it is told again: a queue that is behind does not get shorter by more messages. */
export const pauseAfter = (told: number): number => Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** told)

/** The sweeper's function has 55 seconds, and the removals what the others leave of them, but for what the last runs need. */
const REMOVING_MS = 45_000

export interface Sweeping {
  tell(overdue: Overdue[]): Promise<void>
  checkLimiters(): Promise<void>
  erase(run: AwsRun): Promise<unknown>
  log: LogSink
}

/**
 * Tells the runners of every run that is overdue, at most so many, and moves each on in the due index to when it is to be told next. So a
 * sweep reads what it has something to say about, and not what it said a minute ago. A sweep that dies in between tells some again.
 *
 * Runs that have to go by now are removed on the way.
 */
export async function sweep(
  aws: Aws,
  { tell, checkLimiters, erase, log }: Sweeping,
  limit: number,
): Promise<Overdue[]> {
  const now = aws.clock.now()
  const overdue = await overdueRuns(aws, now, limit)
  await tell(overdue)
  await inParallel(overdue, ({ runId, dueKey, told }) =>
    // Refused when the run has been given up again since, which put it where it belongs.
    updateIf(aws, runKey(runId), change({ ...dueIndex(runId, now + pauseAfter(told)), told: told + 1 }), {
      text: '#dueKey = :seen',
      values: { ':seen': dueKey },
    }),
  )
  await checkLimiters()
  await removeWhatIsDue(aws, erase, log, now)
  return overdue
}

/** Runs that have to go, oldest first, as far as there is time: the next sweep goes on. */
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
      // It is due again in a minute, and must not keep the others from going.
      (runId, error) =>
        log('error', `run '${runId}' is past its retention and could not be removed: ${error}`, { runId }),
    )
    if (aws.clock.now() - now > REMOVING_MS) return
  }
}

const REMOVAL_PARTITIONS = shardsOf('due', REMOVALS, undefined, REMOVAL_SHARDS)
