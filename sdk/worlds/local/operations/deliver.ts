import { type DeliverResult, hasEnded, type Message, type RunStatus } from '../../../ports.ts'
import type { Database } from '../database.ts'

export function deliverMessage(db: Database, runId: string, message: Message, now: number): DeliverResult {
  const row = db.row('SELECT key, status, owner, lease_until, wake_at FROM runs WHERE id = ?', runId)
  if (!row) return { outcome: 'missing', wakes: [] }
  const status = row.status as RunStatus
  if (hasEnded(status)) return { outcome: 'ended', wakes: [] }
  if (db.run('INSERT OR IGNORE INTO inbox (run, id, body) VALUES (?, ?, ?)', row.key!, message.id, JSON.stringify(message)) === 0)
    return { outcome: 'duplicate', wakes: [] }

  const isHeld = row.owner !== null && (row.lease_until as number) > now
  // A stuck run waits for a fix and a run with a start time for that time; the message waits with them.
  const sleepsOn = status === 'stuck' || (status === 'pending' && message.kind !== 'cancel')
  if (isHeld || sleepsOn) {
    db.run('UPDATE runs SET stimulus = stimulus + 1 WHERE key = ?', row.key!)
    return { outcome: 'accepted', wakes: [] }
  }
  const wakeAt = Math.min((row.wake_at as number | null) ?? now, now)
  db.run('UPDATE runs SET stimulus = stimulus + 1, wake_at = ? WHERE key = ?', wakeAt, row.key!)
  return { outcome: 'accepted', wakes: [{ runId, at: wakeAt }] }
}
