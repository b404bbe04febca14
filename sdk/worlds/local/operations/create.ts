import type { NewRun, RunRecord, Wake } from '../../../ports.ts'
import type { Database } from '../database.ts'
import { insertFrame, selectRun, text } from '../rows.ts'

export function createRun(db: Database, run: NewRun): { created: boolean; run: RunRecord; wakes: Wake[]; key?: number } {
  const row = db.row(
    `INSERT INTO runs (id, workflow, version, status, wake_at, secret, parent_id, parent_op, tags, created_at, retention_ms, epoch)
     VALUES (?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING key`,
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
    // A run that was never claimed has no journal and need not look for one; a rerun comes with one.
    run.journal ? 1 : 0,
  )
  if (!row) return { created: false, run: selectRun(db, run.id)!.run, wakes: [] }
  db.run('INSERT INTO payloads (run, input) VALUES (?, ?)', row.key!, text(run.input))
  for (const tag of run.tags) db.run('INSERT OR IGNORE INTO tags (tag, run) VALUES (?, ?)', tag, row.key!)
  if (run.journal) insertFrame(db, row.key!, run.journal)
  return { created: true, run: newRecord(run), wakes: [{ runId: run.id, at: run.wakeAt }], key: row.key as number }
}

function newRecord(run: NewRun): RunRecord {
  const { journal: _, ...rest } = run
  return { ...rest, status: 'pending', generation: 0, attempt: 1, baseSeq: 0, epoch: 0, stimulus: 0 }
}
