import type { ErrorRecord } from '../../../engine/events.ts'
import type { Database } from '../database.ts'
import { text } from '../rows.ts'

export function parkRun(db: Database, runId: string, error: ErrorRecord, now: number): 'parked' | 'leased' | 'moved-on' {
  const row = db.row('SELECT key, owner, lease_until, wake_at FROM runs WHERE id = ?', runId)
  if (!row) return 'moved-on'
  if (row.owner !== null && (row.lease_until as number) > now) return 'leased'
  if (row.wake_at === null || (row.wake_at as number) > now) return 'moved-on'
  db.run(`UPDATE runs SET status = 'stuck', epoch = epoch + 1, owner = NULL, lease_until = NULL, wake_at = NULL, waiting = NULL WHERE key = ?`, row.key!)
  db.run('UPDATE payloads SET error = ? WHERE run = ?', text(error), row.key!)
  return 'parked'
}
