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
 * The run item gets its `ttl` when the run ends. Setting one on each frame then would cost a write per frame, as much as
 * writing the journal did (16 write units would become 27 for a run of ten steps). So whatever a run owns gets its `ttl`
 * when it is written, and two things hold at any time:
 *
 *  - everything the run owns stays at least until `keepUntil`, which is on the run item;
 *  - nobody gives the run up without a `keepUntil` beyond the time at which it will be looked at again.
 *
 * Whoever needs a later `keepUntil` prolongs everything first and then says so in the change that gives the run up.
 * Whoever writes something for the run says under which `keepUntil`, and the change that makes it count is refused if
 * that is not the present one any more (`keptAsSeen`). So neither can overlook the other.
 */
const DAY = 86_400_000
/** Longer means less upkeep for runs that wait for months, shorter less storage for what all the others leave behind. */
const AHEAD = 60 * DAY
/** A run may be woken late, and take some time to end. */
const MARGIN = 10 * DAY
/** For a run that waits for people: nobody knows how long. Its end takes it back. */
const FOR_GOOD = Date.UTC(9999, 0)

/** A run that waits without a time limit is looked at this often, only so that what it owns can be kept. */
export const UPKEEP_MS = 30 * DAY

/** A run in line is looked at this often, in case whoever was to tell it of its turn died on the way. */
export const QUEUED_UPKEEP_MS = 3_600_000

export type Kept = Pick<RunItem, 'createdAt' | 'retentionMs' | 'keepUntil'>

const keptUntil = (run: Kept): number => run.keepUntil ?? run.createdAt + AHEAD + run.retentionMs!
const seconds = (ms: number): number => Math.ceil(ms / 1000)

/** The `ttl` of what is written for a run now, in seconds; none for a run that is kept for good. */
export function ttlNow(run: Kept, now: number): number | undefined {
  return run.retentionMs === undefined ? undefined : seconds(Math.max(now + AHEAD + run.retentionMs, keptUntil(run)))
}

export function ttlAfterEnd(run: Kept, endedAt: number): number | undefined {
  const expiry = expiryOf(endedAt, run.retentionMs)
  return expiry === undefined ? undefined : seconds(expiry)
}

/**
 * DynamoDB clears up within days, and knows nothing of S3. So runs that have objects, and runs that are to be kept for less than a day, are
 * removed by the sweeper when their time has come; see `removal.ts`.
 */
export const goesOnTime = ({ retentionMs, objects }: Pick<RunItem, 'retentionMs' | 'objects'>): boolean =>
  retentionMs !== undefined && (objects === true || retentionMs < DAY)

/** Nobody has looked at the run for so long after it was due that what it owns may be gone, in part or whole. */
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

/** The `keepUntil` that a change needs, where it is another one. `lookAt`: when the run will be looked at next. */
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
 * Gives everything the run owns this lifetime: frames, messages, payloads, and the objects they point at. Returns those
 * attributes of the run item itself that point elsewhere from now on.
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
