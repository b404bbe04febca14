import { InvalidInputError } from '../../../engine/errors.ts'
import type { RunFilter, RunPage } from '../../../ports.ts'
import type { Database, Value } from '../database.ts'
import { SELECT_RUNS, toFound } from '../rows.ts'

export function listRuns(db: Database, filter: RunFilter): RunPage {
  const conditions: string[] = []
  const values: Value[] = []
  const where = (condition: string, value: Value | undefined) => {
    if (value === undefined) return
    conditions.push(condition)
    values.push(value)
  }
  where('r.workflow = ?', filter.workflow)
  // A literal, so that the partial index on runs in trouble can serve it. The port's type admits nothing else.
  if (filter.status !== undefined && /^[a-z]+$/.test(filter.status)) conditions.push(`r.status = '${filter.status}'`)
  if (filter.isOpen) conditions.push('r.ended_at IS NULL')
  where('r.key IN (SELECT run FROM tags WHERE tag = ?)', filter.tag)
  where('r.created_at >= ?', filter.from)
  where('r.created_at < ?', filter.to)
  where('r.key < ?', filter.cursor === undefined ? undefined : readCursor(filter.cursor))
  const rows = db.allValues(
    `${SELECT_RUNS} ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''} ORDER BY r.key DESC LIMIT ?`,
    ...values,
    filter.limit + 1,
  )
  const found = rows.slice(0, filter.limit).map(toFound)
  const page: RunPage = { runs: found.map(({ run }) => run) }
  if (rows.length > filter.limit) page.cursor = String(found.at(-1)!.key)
  return page
}

function readCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new InvalidInputError(`'${cursor}' is not a cursor; pass the cursor of the page before, unchanged`)
  return Number(cursor)
}
