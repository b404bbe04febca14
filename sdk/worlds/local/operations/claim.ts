import { beginOf } from '../../../engine/journal.ts'
import { type Claimed, hasEnded, type Lease, type RunRecord } from '../../../ports.ts'
import type { Database } from '../database.ts'
import type { JournalCache } from '../journal-cache.ts'
import { selectFrame, selectInbox, selectRun } from '../rows.ts'

/** A run that this process has just made. */
export interface Fresh {
  key: number
  run: RunRecord
}

/** What most claims are: the first one of a run made a moment ago. Undefined when somebody has touched it since. */
export function claimFresh(db: Database, { key, run }: Fresh, lease: Lease, now: number): Claimed | undefined {
  const leaseUntil = now + lease.ms
  const claimed = db.run(
    `UPDATE runs SET status = 'running', epoch = 1, owner = ?, lease_until = ?, wake_at = ?, started_at = ?
     WHERE key = ? AND id = ? AND epoch = 0 AND stimulus = 0 AND status = 'pending' AND wake_at <= ?`,
    lease.owner,
    leaseUntil,
    leaseUntil,
    now,
    key,
    run.id,
    now,
  )
  if (claimed === 0) return undefined
  return { run: { ...run, status: 'running', epoch: 1, wakeAt: leaseUntil, startedAt: now }, frames: [], inbox: [], recovered: false, deaths: 0 }
}

export function claimRun(db: Database, journals: JournalCache, runId: string, lease: Lease, now: number): Claimed | undefined {
  const found = selectRun(db, runId)
  if (!found || hasEnded(found.run.status)) return undefined
  const { key, heldUntil = 0, run } = found
  if (heldUntil > now) {
    db.run('UPDATE runs SET stimulus = stimulus + 1 WHERE key = ?', key)
    return undefined
  }
  if (run.wakeAt === undefined || run.wakeAt > now) return undefined
  const leaseUntil = now + lease.ms
  db.run(
    `UPDATE runs SET status = 'running', epoch = epoch + 1, owner = ?, lease_until = ?, wake_at = ?, waiting = NULL, started_at = coalesce(started_at, ?) WHERE key = ?`,
    lease.owner,
    leaseUntil,
    leaseUntil,
    now,
    key,
  )
  const recovered = run.status === 'running'
  const { waitingFor: _, ...rest } = run
  return {
    run: { ...rest, status: 'running', epoch: run.epoch + 1, wakeAt: leaseUntil, startedAt: run.startedAt ?? now },
    ...(run.baseSeq > 0 && { begunAt: beginOf(selectFrame(db, key, run.baseSeq)) }),
    frames: run.epoch === 0 ? [] : journals.load(db, key, run.baseSeq),
    inbox: run.stimulus > 0 ? selectInbox(db, key) : [],
    recovered,
    deaths: recovered ? countDeath(db, key, run.epoch + 1) : 0,
  }
}

/** The claim before this one, which was made for `epoch`, ended without a word. Frames tell whether it came to something. */
function countDeath(db: Database, run: number, epoch: number): number {
  const last = epoch - 1
  const hasMoved = db.row('SELECT 1 FROM frames WHERE run = ? AND epoch = ? LIMIT 1', run, last) !== undefined
  const before = db.row('SELECT epoch, count FROM deaths WHERE run = ?', run)
  const inARow = before?.epoch === last ? (before.count as number) : 0
  const count = hasMoved ? 0 : inARow + 1
  db.run('INSERT OR REPLACE INTO deaths (run, epoch, count) VALUES (?, ?, ?)', run, epoch, count)
  return count
}
