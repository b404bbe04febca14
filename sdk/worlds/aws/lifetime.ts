import { updateIf } from './conditional.ts'
import { exists } from './conditions.ts'
import type { Aws } from './context.ts'
import { change } from './expressions.ts'
import { inParallel } from './in-parallel.ts'
import { AFTER_MESSAGES, FIRST_DATA, runIdOf } from './keys.ts'
import { queryKeys } from './partition.ts'
import type { RunItem } from './run-item.ts'

/**
 * How DynamoDB's TTL clears up after a run, for nothing. The run item gets its `ttl` when the run ends. Setting one on
 * each frame then would cost a write per frame, as much as writing the journal did; so a frame gets its `ttl` when it is
 * written, far enough ahead for nearly every run, and in the rare run that is about to sleep past it all frames get a
 * later one first. `keepUntil` on the run item is the earliest of them. What remains after the run item is gone is
 * told from a new run of the same id by its `life`.
 */
const DAY = 86_400_000
/** Longer means less upkeep for runs that wait for months, shorter less storage for what all the others leave behind. */
const AHEAD = 60 * DAY
/** A run may be woken late, and take some time to end. */
const MARGIN = 10 * DAY

/** A run that waits without a time limit is looked at this often, only so that its frames can be kept. */
export const UPKEEP_MS = 30 * DAY

type Kept = Pick<RunItem, 'createdAt' | 'retentionMs' | 'keepUntil'>

/** The `ttl` of what is written for a run now, in seconds; none for a run that is kept for good. */
export function ttlNow(run: Kept, now: number): number | undefined {
  if (run.retentionMs === undefined) return undefined
  return seconds(Math.max(now + AHEAD + run.retentionMs, keptUntil(run)))
}

export function ttlAfterEnd(run: Kept, now: number): number | undefined {
  return run.retentionMs === undefined ? undefined : seconds(now + run.retentionMs)
}

/** The first `keepUntil` of a run that starts later: its input, and what is sent to it before, must be there then. */
export function keepUntilStart({ createdAt, wakeAt, retentionMs }: { createdAt: number; wakeAt: number; retentionMs?: number }): number | undefined {
  return retentionMs === undefined || wakeAt <= createdAt ? undefined : wakeAt + AHEAD + retentionMs
}

/** Makes sure that the run finds everything in place when it wakes, and returns the new `keepUntil` if there is one. */
export async function keepUntilAfter(aws: Aws, run: RunItem, wakeAt: number): Promise<number | undefined> {
  if (run.retentionMs === undefined || keptUntil(run) >= wakeAt + MARGIN + run.retentionMs) return undefined
  const keepUntil = wakeAt + AHEAD + run.retentionMs
  const keys = await queryKeys(aws, runIdOf(run.pk), FIRST_DATA, AFTER_MESSAGES)
  await inParallel(keys, (key) => updateIf(aws, key, change({ ttl: seconds(keepUntil) }), exists))
  return keepUntil
}

const keptUntil = (run: Kept): number => run.keepUntil ?? run.createdAt + AHEAD + run.retentionMs!
const seconds = (ms: number): number => Math.ceil(ms / 1000)
