import { InvalidInputError } from '../../engine/errors.ts'
import type { RunCounts, RunFilter, RunPage } from '../../ports.ts'
import type { Database, Value } from './database.ts'
import { selectSummaries } from './rows.ts'
import { FOUND_BY_STATUS } from './schema.ts'

export function listRuns(db: Database, filter: RunFilter, now: number): RunPage {
  // Past its retention a run counts as gone, whenever it is cleared away.
  const conditions = ['(r.expires_at IS NULL OR r.expires_at > ?)']
  const values: Value[] = [now]
  const where = (condition: string, value: Value | undefined) => {
    if (value === undefined) return
    conditions.push(condition)
    values.push(value)
  }
  where('r.workflow = ?', filter.workflow)
  // A literal; the port's type admits nothing else.
  if (filter.status !== undefined && /^[a-z]+$/.test(filter.status)) conditions.push(`r.status = '${filter.status}'`)
  // SQLite takes the partial index only where its condition stands in the same words.
  if (filter.status !== undefined && FOUND_BY_STATUS.includes(`'${filter.status}'`)) conditions.push(`r.${FOUND_BY_STATUS}`)
  if (filter.isOpen) conditions.push('r.ended_at IS NULL')
  where('r.key IN (SELECT run FROM tags WHERE tag = ?)', filter.tag)
  where('r.id >= ?', filter.idPrefix)
  where('r.id < ?', filter.idPrefix === undefined ? undefined : `${filter.idPrefix}\u{10ffff}`)
  where('r.created_at >= ?', filter.from)
  where('r.created_at < ?', filter.to)
  where('r.key < ?', filter.cursor === undefined ? undefined : readCursor(filter.cursor))
  const found = selectSummaries(db, `WHERE ${conditions.join(' AND ')} ORDER BY r.key DESC LIMIT ?`, ...values, filter.limit + 1)
  const shown = found.slice(0, filter.limit)
  const page: RunPage = { runs: shown.map(({ run }) => run) }
  if (found.length > filter.limit) page.cursor = String(shown.at(-1)!.key)
  return page
}

export function countRuns(db: Database, now: number): RunCounts {
  const sql = 'SELECT status, count(*) FROM runs WHERE expires_at IS NULL OR expires_at > ? GROUP BY status'
  return Object.fromEntries(db.allValues(sql, now).map(([status, count]) => [status, { count: count as number }]))
}

function readCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new InvalidInputError(`'${cursor}' is not a cursor; pass the cursor of the page before, unchanged`)
  return Number(cursor)
}
