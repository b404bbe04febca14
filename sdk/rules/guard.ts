import { hasEnded } from '../ports/run.ts'
import type { Change, Guard, StoredRun } from './storage.ts'

/** Past its retention: whenever the world clears it away, it counts as gone, and its id is free. */
export function isGone({ endedAt, retentionMs }: Pick<StoredRun, 'endedAt' | 'retentionMs'>, now: number): boolean {
  const expiry = expiryOf(endedAt, retentionMs)
  return expiry !== undefined && expiry <= now
}

/** A run that is not to be kept at all can still be read for a moment: a client may be waiting for its outcome. */
const LAST_LOOK_MS = 60_000

/**
 * When a run that ended may be cleared away; never, for one that is kept for good. In whole seconds, as DynamoDB
 * counts.
 */
export function expiryOf(endedAt: number | undefined, retentionMs: number | undefined): number | undefined {
  if (endedAt === undefined || retentionMs === undefined) return undefined
  return Math.ceil((endedAt + (retentionMs === 0 ? LAST_LOOK_MS : retentionMs)) / 1_000) * 1_000
}

export const isLeased = ({ leaseUntil }: Pick<StoredRun, 'leaseUntil'>, now: number): boolean =>
  leaseUntil !== undefined && leaseUntil > now

/** For worlds that can read the run when they decide. The others express the same in their own language. */
export function holds(guard: Guard, run: StoredRun): boolean {
  if (guard.open && hasEnded(run.status)) return false
  if (guard.status && !guard.status.includes(run.status)) return false
  if (guard.notStatus?.includes(run.status)) return false
  if (guard.due !== undefined && !(run.wakeAt !== undefined && run.wakeAt <= guard.due)) return false
  if (guard.free !== undefined && isLeased(run, guard.free)) return false
  if (guard.leased !== undefined && !isLeased(run, guard.leased)) return false
  if (guard.heldBy !== undefined && !(run.epoch === guard.heldBy && run.status === 'running')) return false
  if (guard.epoch !== undefined && run.epoch !== guard.epoch) return false
  if (guard.format !== undefined && run.format > guard.format) return false
  if (guard.passed !== undefined && (run.passed ?? 0) !== guard.passed) return false
  return guard.stimulus === undefined || run.stimulus === guard.stimulus
}

/** The run after a change that its guard has let through. */
export function changed<R extends StoredRun>(run: R, { set = {}, bump = [] }: Change): R {
  const next: { -readonly [K in keyof StoredRun]: StoredRun[K] } = { ...run }
  if (set.status !== undefined) next.status = set.status
  if (set.baseSeq !== undefined) next.baseSeq = set.baseSeq
  if (set.parent !== undefined) next.parent = set.parent
  if ('wakeAt' in set) next.wakeAt = set.wakeAt
  if ('leaseUntil' in set) next.leaseUntil = set.leaseUntil
  if ('endedAt' in set) next.endedAt = set.endedAt
  if (set.passed !== undefined) next.passed = set.passed
  if (set.admission !== undefined) next.admission = set.admission
  if ('claims' in set) next.claims = set.claims ?? 0
  if ('spared' in set) next.spared = set.spared
  for (const counter of bump) next[counter]++
  return next as R
}
