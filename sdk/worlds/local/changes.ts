import { expiryOf } from '../../rules/guard.ts'
import type { Change, RunFields } from '../../rules/storage.ts'
import type { Database, Value } from './database.ts'
import { type Row, text } from './rows.ts'

/** Decisions as SQL. There are about twenty shapes of them; each is a prepared statement. */

const COLUMN: Record<Exclude<keyof RunFields, 'input' | 'parsed' | 'output' | 'error' | 'parent' | 'trace'>, string> = {
  status: 'status',
  wakeAt: 'wake_at',
  leaseUntil: 'lease_until',
  owner: 'owner',
  claims: 'claims',
  spared: 'spared',
  attempt: 'attempt',
  baseSeq: 'base_seq',
  endedAt: 'ended_at',
  progress: 'progress',
  heartbeat: 'heartbeat',
  waitingFor: 'waiting',
  reparse: 'reparse',
  admission: 'admission',
  passed: 'passed',
}
const IS_JSON: ReadonlySet<string> = new Set(['progress', 'heartbeat', 'waitingFor', 'admission'])
/** Written once and read rarely, so they are stored beside the columns that scheduling uses. */
const IN_PAYLOADS = ['input', 'parsed', 'output', 'error', 'trace'] as const

/** `unlessTouched`: only if no other call has changed the run since it was made. False if one has. */
export function write(db: Database, row: Row, change: Change, unlessTouched = false): boolean {
  const { set = {}, bump = [], setOnce } = change
  const clauses: string[] = []
  const values: Value[] = []
  for (const field in set) {
    const column = COLUMN[field as keyof typeof COLUMN]
    if (column === undefined) continue
    const value = set[field as keyof typeof COLUMN]
    clauses.push(`${column} = ?`)
    if (field === 'reparse') values.push(value ? 1 : null)
    else values.push(IS_JSON.has(field) ? text(value) : ((value ?? (field === 'claims' ? 0 : null)) as Value))
  }
  if ('endedAt' in set) {
    clauses.push('expires_at = ?')
    values.push(expiryOf(set.endedAt, row.retentionMs) ?? null)
  }
  if (set.parent) {
    clauses.push('parent_id = ?, parent_op = ?, parent_generation = ?')
    values.push(set.parent.runId, set.parent.op, set.parent.generation ?? null)
  }
  for (const counter of bump) clauses.push(`${counter} = ${counter} + 1`)
  if (setOnce) {
    clauses.push('started_at = coalesce(started_at, ?)')
    values.push(setOnce.startedAt)
  }
  if (clauses.length > 0) {
    const untouched = unlessTouched ? ` AND id = ? AND epoch = 0 AND stimulus = 0 AND status = 'pending'` : ''
    const changed = db.run(
      `UPDATE runs SET ${clauses.join(', ')} WHERE key = ?${untouched}`,
      ...values,
      row.key,
      ...(unlessTouched ? [row.id] : []),
    )
    if (changed === 0) return false
  }
  const payloads = IN_PAYLOADS.filter((field) => field in set)
  if (payloads.length > 0) {
    db.run(
      `UPDATE payloads SET ${payloads.map((field) => `${field} = ?`).join(', ')} WHERE run = ?`,
      ...payloads.map((field) => text(set[field])),
      row.key,
    )
  }
  return true
}
