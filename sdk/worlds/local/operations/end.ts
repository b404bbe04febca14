import { END_STATUS, outgoingAtEnd } from '../../../engine/ending.ts'
import type { JournalEvent, TerminalEvent } from '../../../engine/events.ts'
import { hasEnded, type Wake } from '../../../ports.ts'
import type { Database, Value } from '../database.ts'
import { insertFrame, selectFrames, selectRun, text } from '../rows.ts'
import { sendOutgoing } from './outgoing.ts'

/** Marks the run as ended. Its frame is in the journal already. */
export function endRun(db: Database, run: Value, event: TerminalEvent, hasHadMail: boolean, now: number): void {
  db.run(
    `UPDATE runs SET status = ?, ended_at = ?, owner = NULL, lease_until = NULL, wake_at = NULL, waiting = NULL, heartbeat = NULL, expires_at = ? + retention_ms WHERE key = ?`,
    END_STATUS[event.type],
    now,
    now,
    run,
  )
  if (event.type === 'run.completed' && event.output !== undefined) db.run('UPDATE payloads SET output = ? WHERE run = ?', text(event.output), run)
  if (event.type === 'run.failed') db.run('UPDATE payloads SET error = ? WHERE run = ?', text(event.error), run)
  if (event.type === 'run.cancelled' || event.type === 'run.terminated') {
    const name = event.type === 'run.cancelled' ? 'CancelledError' : 'TerminatedError'
    db.run('UPDATE payloads SET error = ? WHERE run = ?', text({ name, message: event.reason ?? END_STATUS[event.type] }), run)
  }
  if (hasHadMail) db.run('DELETE FROM inbox WHERE run = ?', run)
}

export function terminateRun(db: Database, runId: string, reason: string, now: number): { ended: boolean; wakes: Wake[]; touched: string[] } {
  const found = selectRun(db, runId)
  if (!found || hasEnded(found.run.status)) return { ended: false, wakes: [], touched: [] }
  const { key, run } = found
  const frames = selectFrames(db, key, run.baseSeq + 1)
  const event: TerminalEvent = { type: 'run.terminated', reason }
  appendOutside(db, key, run.epoch + 1, event, now)
  db.run('UPDATE runs SET epoch = epoch + 1 WHERE key = ?', key)
  endRun(db, key, event, run.stimulus > 0, now)
  const sent = sendOutgoing(
    db,
    runId,
    outgoingAtEnd(
      run,
      event,
      frames.flatMap((frame) => frame.events),
    ),
    now,
  )
  return { ended: true, wakes: sent.wakes, touched: [runId, ...sent.touched] }
}

/** Takes the next slot of the journal for something that does not come from a runner. */
export function appendOutside(db: Database, run: Value, epoch: number, event: JournalEvent, now: number): void {
  const last = db.row('SELECT max(seq) AS seq, max(at) AS at FROM frames WHERE run = ?', run)!
  insertFrame(db, run, { seq: ((last.seq as number | null) ?? 0) + 1, at: Math.max(now, (last.at as number | null) ?? 0), epoch, events: [event] })
}
