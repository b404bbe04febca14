import { type Commit, type CommitResult, hasEnded, type Next, type RunStatus, type Wake } from '../../../ports.ts'
import type { Database, Value } from '../database.ts'
import { insertFrame, text } from '../rows.ts'
import { endRun } from './end.ts'
import { sendOutgoing } from './outgoing.ts'

export function commitRun(db: Database, commit: Commit, now: number): { result: CommitResult; touched: string[] } {
  const { runId, frame } = commit
  const row = db.row('SELECT key, epoch, stimulus, status FROM runs WHERE id = ?', runId)
  if (!row || row.epoch !== commit.epoch || hasEnded(row.status as RunStatus)) return LOST
  const run = row.key!
  if (frame && !insertFrame(db, run, frame)) return LOST
  for (const id of commit.consumed ?? []) db.run('UPDATE inbox SET body = NULL WHERE run = ? AND id = ?', run, id)
  if (commit.progress !== undefined) db.run('UPDATE runs SET progress = ? WHERE key = ?', text(commit.progress), run)
  const sent = commit.outgoing ? sendOutgoing(db, runId, commit.outgoing, now) : NOTHING_SENT
  const stimulus = (commit.outgoing ? db.row('SELECT stimulus FROM runs WHERE key = ?', run)!.stimulus : row.stimulus) as number
  const { suspended, wakes } = moveOn(db, run, runId, commit.next, stimulus, frame?.seq, now)
  const ended = commit.next.kind !== 'keep'
  return { result: { ok: true, stimulus, suspended, wakes: [...sent.wakes, ...wakes] }, touched: ended ? [runId, ...sent.touched] : sent.touched }
}

const LOST: { result: CommitResult; touched: string[] } = { result: { ok: false }, touched: [] }
const NOTHING_SENT: { wakes: Wake[]; touched: string[] } = { wakes: [], touched: [] }
const FREE = 'owner = NULL, lease_until = NULL'

function moveOn(
  db: Database,
  run: Value,
  runId: string,
  next: Next,
  stimulus: number,
  seq: number | undefined,
  now: number,
): { suspended: boolean; wakes: Wake[] } {
  switch (next.kind) {
    case 'keep':
      return { suspended: false, wakes: [] }
    case 'suspend':
      // I6: something came in that the runner has not seen.
      if (stimulus !== next.seen) return { suspended: false, wakes: [] }
      db.run(`UPDATE runs SET ${FREE}, status = ?, wake_at = ?, waiting = ? WHERE key = ?`, next.status, next.wakeAt ?? null, text(next.waitingFor), run)
      return { suspended: true, wakes: next.wakeAt === undefined ? [] : [{ runId, at: next.wakeAt }] }
    case 'release':
      db.run(`UPDATE runs SET ${FREE}, status = 'pending', wake_at = ? WHERE key = ?`, now, run)
      return { suspended: true, wakes: [{ runId, at: now }] }
    case 'end':
      endRun(db, run, next.event, stimulus > 0, now)
      return { suspended: true, wakes: [] }
    case 'continue':
      // The frame that says so stays, for readers; the ones before it have served.
      db.run('DELETE FROM frames WHERE run = ? AND seq < ?', run, seq!)
      db.run('DELETE FROM inbox WHERE run = ? AND body IS NULL', run)
      db.run('UPDATE payloads SET input = ? WHERE run = ?', text(next.input), run)
      db.run(
        `UPDATE runs SET ${FREE}, status = 'pending', generation = generation + 1, attempt = ?, base_seq = ?, wake_at = ? WHERE key = ?`,
        next.attempt,
        seq!,
        next.wakeAt,
        run,
      )
      return { suspended: true, wakes: [{ runId, at: next.wakeAt }] }
    case 'park':
      db.run(`UPDATE runs SET ${FREE}, status = 'stuck', wake_at = NULL WHERE key = ?`, run)
      db.run('UPDATE payloads SET error = ? WHERE run = ?', text(next.error), run)
      return { suspended: true, wakes: [] }
  }
}
