import type { EventOf } from '../../../engine/events.ts'
import type { Wake } from '../../../ports.ts'
import type { Database } from '../database.ts'
import { appendOutside } from './end.ts'

export function reviveRun(db: Database, runId: string, event: EventOf<'run.retried'> | undefined, now: number): { revived: boolean; wakes: Wake[] } {
  const row = db.row('SELECT key, status, epoch FROM runs WHERE id = ?', runId)
  if (!row || row.status !== (event ? 'failed' : 'stuck')) return { revived: false, wakes: [] }
  if (event) appendOutside(db, row.key!, row.epoch as number, event, now)
  db.run(`UPDATE runs SET status = 'pending', wake_at = ?, ended_at = NULL, expires_at = NULL WHERE key = ?`, now, row.key!)
  db.run('UPDATE payloads SET error = NULL WHERE run = ?', row.key!)
  return { revived: true, wakes: [{ runId, at: now }] }
}
