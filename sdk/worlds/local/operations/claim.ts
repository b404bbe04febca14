import { type Claimed, hasEnded, type Lease, type RunStatus } from '../../../ports.ts'
import type { Database } from '../database.ts'
import type { JournalCache } from '../journal-cache.ts'
import { selectInbox, selectRun, toRecord } from '../rows.ts'

export function claimRun(db: Database, journals: JournalCache, runId: string, lease: Lease, now: number): Claimed | undefined {
  const row = selectRun(db, runId)
  if (!row || hasEnded(row.status as RunStatus)) return undefined
  if (row.owner !== null && (row.lease_until as number) > now) {
    db.run('UPDATE runs SET stimulus = stimulus + 1 WHERE key = ?', row.key!)
    return undefined
  }
  if (row.wake_at === null || (row.wake_at as number) > now) return undefined
  const leaseUntil = now + lease.ms
  db.run(
    `UPDATE runs SET status = 'running', epoch = epoch + 1, owner = ?, lease_until = ?, wake_at = ?, waiting = NULL, started_at = coalesce(started_at, ?) WHERE key = ?`,
    lease.owner,
    leaseUntil,
    leaseUntil,
    now,
    row.key!,
  )
  const recovered = row.status === 'running'
  const isNew = row.epoch === 0
  Object.assign(row, { status: 'running', epoch: (row.epoch as number) + 1, wake_at: leaseUntil, waiting: null, started_at: row.started_at ?? now })
  return {
    run: toRecord(row),
    frames: isNew ? [] : journals.load(db, row.key as number, row.base_seq as number),
    inbox: (row.stimulus as number) > 0 ? selectInbox(db, row.key!) : [],
    recovered,
  }
}
