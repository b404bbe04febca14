import { expiryOf } from '../../rules/guard.ts'
import { inParallel } from '../../rules/procedure.ts'
import type { RunFields } from '../../rules/storage.ts'
import type { Aws } from './context.ts'
import { change, exists } from './expressions.ts'
import { queryRange, updateIf } from './items.ts'
import { AFTER_MESSAGES, entryKeys, FIRST_DATA, type Key, runIdOf } from './keys.ts'
import { KEPT_PAYLOADS, RUN_PAYLOADS } from './payloads.ts'
import type { RunItem } from './run-item.ts'

/**
 * How DynamoDB's TTL clears up after a run, for nothing, and why nothing of an open run can expire (I8).
 *
 * The run item gets its `ttl` when the run ends. Setting one on each frame then would cost a write
 * per frame, as much as writing the journal did (16 write units would become 27 for a run of ten
 * steps). So everything a run owns gets its `ttl` when it is written, and two statements hold at
 * any time:
 *
 *  - everything the run owns stays at least until `keepUntil`, which is on the run item;
 * - no process releases the run without a `keepUntil` beyond the time of its next wake-up or check.
 *
 * A process that needs a later `keepUntil` first prolongs everything, then records it in the change
 * that releases the run. A process that writes something for the run names the `keepUntil` it used,
 * and the change that makes the write count is refused if `keepUntil` has changed since
 * (`keptAsSeen`). So neither can miss the other.
 */
const DAY = 86_400_000
/**
 * A longer time means less upkeep for runs that wait for months; a shorter one less storage for
 * ended runs.
 */
const AHEAD = 60 * DAY
/** A run may be woken late, and take some time to end. */
const MARGIN = 10 * DAY
/** For a run that waits without a deadline. Its end removes this again. */
const FOR_GOOD = Date.UTC(9999, 0)

/** A run that waits without a time limit is looked at this often, only so that what it owns can be kept. */
export const UPKEEP_MS = 30 * DAY

/** A queued run is checked this often, in case the process that should have granted its permit died. */
export const QUEUED_CHECK_MS = 3_600_000

export type Kept = Pick<RunItem, 'createdAt' | 'retentionMs' | 'keepUntil'>

const keptUntil = (run: Kept): number => run.keepUntil ?? run.createdAt + AHEAD + run.retentionMs!
const seconds = (ms: number): number => Math.ceil(ms / 1000)

/** The `ttl` of what is written for a run now, in seconds; none for a run without a deadline. */
export function ttlNow(run: Kept, now: number): number | undefined {
  return run.retentionMs === undefined ? undefined : seconds(Math.max(now + AHEAD + run.retentionMs, keptUntil(run)))
}

export function ttlAfterEnd(run: Kept, endedAt: number): number | undefined {
  const expiry = expiryOf(endedAt, run.retentionMs)
  return expiry === undefined ? undefined : seconds(expiry)
}

/**
 * DynamoDB's TTL acts within days and does not reach S3. So the sweeper removes runs that have
 * objects, and runs with a retention of less than a day; see `removal.ts`.
 */
export const goesOnTime = ({ retentionMs, objects }: Pick<RunItem, 'retentionMs' | 'objects'>): boolean =>
  retentionMs !== undefined && (objects === true || retentionMs < DAY)

/**
 * No process has claimed the run for so long after it was due that DynamoDB may have removed some
 * of its items.
 */
export const mayHaveExpired = (run: Kept, now: number): boolean =>
  run.retentionMs !== undefined && now >= keptUntil(run)

/** The first `keepUntil` of a run that starts later: its input, and what is sent to it before, must be there then. */
export function keepUntilStart({
  createdAt,
  wakeAt,
  retentionMs,
}: {
  createdAt: number
  wakeAt: number
  retentionMs?: number
}): number | undefined {
  return retentionMs === undefined || wakeAt <= createdAt ? undefined : wakeAt + AHEAD + retentionMs
}

/**
 * The `keepUntil` that a change needs, if it differs from the stored one. `lookAt`: the run's next
 * check.
 */
export function neededKeepUntil(run: Kept, set: RunFields, lookAt: number | undefined): number | undefined {
  const { retentionMs } = run
  if (retentionMs === undefined) return undefined
  if (set.status === 'stuck') return keptUntil(run) >= FOR_GOOD ? undefined : FOR_GOOD
  if (set.endedAt !== undefined) return keptUntil(run) >= FOR_GOOD ? expiryOf(set.endedAt, retentionMs) : undefined
  if (lookAt === undefined || keptUntil(run) >= lookAt + MARGIN + retentionMs) return undefined
  return lookAt + AHEAD + retentionMs
}

type Owned = Key & Partial<Record<'events' | 'body', unknown>>

/**
 * Gives everything the run owns this lifetime: frames, messages, payloads, and the objects they
 * point at. Returns those attributes of the run item itself that point elsewhere from now on.
 */
export async function keep(aws: Aws, run: RunItem, keepUntil: number): Promise<Partial<RunItem>> {
  const folder = keepUntil >= FOR_GOOD ? KEPT_PAYLOADS : RUN_PAYLOADS
  const owned = await queryRange<Owned>(aws, runIdOf(run.pk), FIRST_DATA, AFTER_MESSAGES)
  await inParallel(owned, async ({ pk, sk, ...item }) => {
    const name = 'events' in item ? 'events' : 'body'
    const moved = await aws.payloads.renew(item[name], folder)
    await updateIf(aws, { pk, sk }, change({ ttl: seconds(keepUntil), ...(moved && { [name]: moved }) }), exists)
  })
  for (const key of entryKeys({ ...run, id: runIdOf(run.pk) }))
    await updateIf(aws, key, change({ ttl: seconds(keepUntil) }), exists)
  const pointers: Partial<RunItem> = {}
  for (const name of ['input', 'parsed', 'progress', 'seed', 'error', 'heartbeat'] as const) {
    const moved = await aws.payloads.renew(run[name], folder)
    if (moved) pointers[name] = moved
  }
  return pointers
}
