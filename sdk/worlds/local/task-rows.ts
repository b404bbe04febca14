import type { Json } from '../../base/json.ts'
import type { TaskNotice } from '../../ports/tasks.ts'
import { asWaiting, type NewTask, type Task } from '../../tasks/task.ts'
import { BOUND, type Database, type Value } from './database.ts'
import { text } from './rows.ts'

/** How long a settled task stays, so that a worker that repeats itself gets the right answer. */
const KEPT_MS = 86_400_000

export function insertTask(db: Database, task: NewTask, version: number): Task {
  const waiting = asWaiting(task, version)
  db.run(
    'INSERT OR REPLACE INTO tasks (id, type, version, look_at, body, input) VALUES (?, ?, ?, ?, ?, ?)',
    task.id,
    task.type,
    version,
    waiting.lookAt!,
    JSON.stringify(waiting),
    text(task.input),
  )
  return waiting
}

export function selectTask(db: Database, id: string): Task | undefined {
  const row = db.row('SELECT version, body FROM tasks WHERE id = ?', id)
  return row && { ...(JSON.parse(row.body as string) as Task), version: row.version as number }
}

export function selectInput(db: Database, id: string): Json | undefined {
  const input = db.row('SELECT input FROM tasks WHERE id = ?', id)?.input
  return typeof input === 'string' ? (JSON.parse(input) as Json) : undefined
}

/** False if its version is not the one that was read. */
export function updateTask(db: Database, task: Task, now: number): boolean {
  const { version, ...body } = task
  const changed = db.run(
    'UPDATE tasks SET version = version + 1, look_at = ?, body = ?, expires_at = ? WHERE id = ? AND version = ?',
    task.lookAt ?? null,
    JSON.stringify(body),
    task.state === 'settled' ? now + KEPT_MS : null,
    task.id,
    version,
  )
  return changed === 1
}

/** Tasks that a worker may take now, the longest waiting first. */
export function tasksToLookAt(db: Database, types: readonly string[], most: number, now: number): TaskNotice[] {
  const rows = db.rows(
    `SELECT id, type FROM tasks WHERE look_at <= ? AND type IN (${types.map(() => '?').join(', ')}) ORDER BY ` +
      `look_at LIMIT ${BOUND}`,
    now,
    ...types,
    most as Value,
  )
  return rows.map((row) => ({ taskId: row.id as string, type: row.type as string }))
}

/** When the next task becomes available. */
export function nextLook(db: Database, types: readonly string[], now: number): number | undefined {
  const row = db.row(
    `SELECT min(look_at) AS at FROM tasks WHERE look_at > ? AND type IN (${types.map(() => '?').join(', ')})`,
    now,
    ...types,
  )
  return (row?.at as number | null) ?? undefined
}
