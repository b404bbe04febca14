import type { NewRun, RunRecord, Wake } from '../../../ports.ts'
import type { Database } from '../database.ts'
import { insertFrame, selectRun, text, toRecord } from '../rows.ts'

export function createRun(db: Database, run: NewRun): { created: boolean; run: RunRecord; wakes: Wake[] } {
  const existing = selectRun(db, run.id)
  if (existing) return { created: false, run: toRecord(existing), wakes: [] }
  const row = db.row(
    `INSERT INTO runs (id, workflow, version, status, wake_at, secret, parent_id, parent_op, tags, created_at, retention_ms)
     VALUES (?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?) RETURNING key`,
    run.id,
    run.workflow,
    run.version,
    run.wakeAt,
    run.secret,
    run.parent?.runId ?? null,
    run.parent?.op ?? null,
    run.tags.length > 0 ? JSON.stringify(run.tags) : null,
    run.createdAt,
    run.retentionMs ?? null,
  )!
  db.run('INSERT INTO payloads (run, input) VALUES (?, ?)', row.key!, text(run.input))
  for (const tag of run.tags) db.run('INSERT OR IGNORE INTO tags (tag, run) VALUES (?, ?)', tag, row.key!)
  if (run.journal) insertFrame(db, row.key!, run.journal)
  return { created: true, run: newRecord(run), wakes: [{ runId: run.id, at: run.wakeAt }] }
}

function newRecord(run: NewRun): RunRecord {
  const { journal: _, ...rest } = run
  return { ...rest, status: 'pending', generation: 0, attempt: 1, baseSeq: 0, epoch: 0, stimulus: 0 }
}
