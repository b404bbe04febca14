import type { LogSink } from '../../ports.ts'
import { inParallel } from '../../rules/procedure.ts'
import type { Aws } from './context.ts'
import { change } from './expressions.ts'
import { updateIf } from './items.ts'
import { dueIndex, runIdOf, runKey } from './keys.ts'
import { type Overdue, overdueRuns } from './list.ts'
import { removeOnTime } from './removal.ts'
import type { AwsRun } from './run-item.ts'

const FIRST_PAUSE_MS = 60_000
/** Short enough for a run whose runner has died after it was told so often. */
const LONGEST_PAUSE_MS = 900_000

/** How long a run that was told is given before it is told again: a queue that is behind does not get shorter by more messages. */
export const pauseAfter = (told: number): number => Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** told)

/** Each takes a few calls, and a sweep has a minute. */
const MOST_REMOVALS = 500

export interface Sweeping {
  tell(overdue: Overdue[]): Promise<void>
  erase(run: AwsRun): Promise<unknown>
  log: LogSink
}

/**
 * Tells the runners of every run that is overdue, at most so many, and moves each on in the due index to when it is to be told next. So a
 * sweep reads what it has something to say about, and not what it said a minute ago. A sweep that dies in between tells some again.
 *
 * Runs that have to go by now are removed on the way.
 */
export async function sweep(aws: Aws, { tell, erase, log }: Sweeping, limit: number): Promise<Overdue[]> {
  const now = aws.clock.now()
  const { overdue, removals } = await overdueRuns(aws, now, limit)
  await tell(overdue)
  await inParallel(overdue, ({ runId, dueKey, told }) =>
    // Refused when the run has been given up again since, which put it where it belongs.
    updateIf(aws, runKey(runId), change({ ...dueIndex(runId, now + pauseAfter(told)), told: told + 1 }), {
      text: '#dueKey = :seen',
      values: { ':seen': dueKey },
    }),
  )
  await inParallel(removals.slice(0, MOST_REMOVALS), (hint) =>
    // It is due again in a minute, and must not keep the others from going.
    removeOnTime(aws, hint, erase).catch((error: unknown) => {
      const runId = runIdOf(hint.pk)
      log('error', `run '${runId}' is past its retention and could not be removed: ${error}`, { runId })
    }),
  )
  return overdue
}
