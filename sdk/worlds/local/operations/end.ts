import { END_STATUS, outgoingAtEnd } from '../../../engine/ending.ts'
import type { JournalEvent, TerminalEvent } from '../../../engine/events.ts'
import { hasEnded, type RunRecord, type Wake } from '../../../ports.ts'
import type { Database, Value } from '../database.ts'
import { insertFrame, selectFrames, selectRun, text } from '../rows.ts'
import { sendOutgoing } from './outgoing.ts'

/** How a run ended, as its record says it. */
export type Ended = Pick<RunRecord, 'status' | 'endedAt' | 'output' | 'error'>

export function endedBy(event: TerminalEvent, now: number): Ended {
  const ended = { status: END_STATUS[event.type], endedAt: now }
  switch (event.type) {
    case 'run.completed':
      return event.output === undefined ? ended : { ...ended, output: event.output }
    case 'run.failed':
      return { ...ended, error: event.error }
    default: {
      const name = event.type === 'run.cancelled' ? 'CancelledError' : 'TerminatedError'
      return { ...ended, error: { name, message: event.reason ?? END_STATUS[event.type] } }
    }
  }
}

/** Marks the run as ended. Its frame is in the journal already. */
export function endRun(db: Database, run: Value, event: TerminalEvent, hasHadMail: boolean, now: number): void {
  const { status, output, error } = endedBy(event, now)
  db.run(
    `UPDATE runs SET status = ?, ended_at = ?, owner = NULL, lease_until = NULL, wake_at = NULL, waiting = NULL, heartbeat = NULL, expires_at = ? + retention_ms WHERE key = ?`,
    status,
    now,
    now,
    run,
  )
  if (output !== undefined) db.run('UPDATE payloads SET output = ? WHERE run = ?', text(output), run)
  if (error) db.run('UPDATE payloads SET error = ? WHERE run = ?', text(error), run)
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
