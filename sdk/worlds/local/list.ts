import { InvalidInputError } from '../../base/errors.ts'
import { hasEnded, type RunStatus } from '../../ports/run.ts'
import type { RunCounts, RunFilter, RunPage, RunSummary } from '../../ports/run-lists.ts'
import type { Database, Value } from './database.ts'
import { selectSummaries } from './rows.ts'
import { FOUND_BY_STATUS } from './schema.ts'

/** Up to so many are sorted faster than the list of all runs is scanned. */
const FEW = 2_000

export function listRuns(db: Database, filter: RunFilter, now: number): RunPage {
  // Past its retention a run counts as gone, even before it is removed.
  const conditions = ['(r.expires_at IS NULL OR r.expires_at > ?)']
  const values: Value[] = [now]
  const where = (condition: string, ...its: (Value | undefined)[]) => {
    if (its.includes(undefined)) return
    conditions.push(condition)
    values.push(...(its as Value[]))
  }
  const few = keysOfFew(db, filter.status)
  const isFoundByStatus = filter.status !== undefined && FOUND_BY_STATUS.includes(`'${filter.status}'`)
  const isNarrow = [filter.workflow, filter.tag, filter.idPrefix, few].some((it) => it !== undefined) || isFoundByStatus
  // Keys are in the order of creation, so both orders agree unless a clock was set back.
  const isByTime = !isNarrow && (filter.from !== undefined || filter.to !== undefined)
  // For any range SQLite would take the index by time, and sort what may be all runs: the plus
  // prevents it.
  const createdAt = isByTime ? 'r.created_at' : '+r.created_at'
  const cursor = filter.cursor === undefined ? undefined : readCursor(filter.cursor)

  where('r.workflow = ?', filter.workflow)
  // A literal; the port's type admits nothing else.
  if (filter.status !== undefined && /^[a-z]+$/.test(filter.status)) conditions.push(`r.status = '${filter.status}'`)
  // SQLite uses the partial index only where its condition has the same text.
  if (isFoundByStatus) conditions.push(`r.${FOUND_BY_STATUS}`)
  where('r.key IN (SELECT value FROM json_each(?))', few)
  if (filter.isOpen) conditions.push('r.ended_at IS NULL')
  where('r.key IN (SELECT run FROM tags WHERE tag = ?)', filter.tag)
  where('r.id >= ?', filter.idPrefix)
  where('r.id < ?', filter.idPrefix === undefined ? undefined : `${filter.idPrefix}\u{10ffff}`)
  where(`${createdAt} >= ?`, filter.from)
  where(`${createdAt} < ?`, filter.to)
  if (isByTime) where('(r.created_at, r.key) < (?, ?)', cursor?.createdAt, cursor?.key)
  else where('r.key < ?', cursor?.key)
  const order = isByTime ? 'r.created_at DESC, r.key DESC' : 'r.key DESC'
  const found = selectSummaries(
    db,
    `WHERE ${conditions.join(' AND ')} ORDER BY ${order} LIMIT ?`,
    ...values,
    filter.limit + 1,
  )
  const shown = found.slice(0, filter.limit)
  const page: RunPage = { runs: shown.map(({ run }) => run) }
  if (found.length > filter.limit) page.cursor = cursorAfter(shown.at(-1)!)
  return page
}

/**
 * The open runs in a state, where there are few of them, as JSON. Each is in one of two indexes,
 * which contain open runs only, by state.
 */
function keysOfFew(db: Database, status: RunStatus | undefined): string | undefined {
  if (status === undefined || hasEnded(status) || status === 'stuck') return undefined
  const among = (condition: string) => `SELECT key FROM runs WHERE ${condition} AND status = '${status}'`
  const keys = db.allValues(
    `${among('wake_at IS NOT NULL')} UNION ALL ${among('wake_at IS NULL AND ended_at IS NULL')} LIMIT ${FEW + 1}`,
  )
  return keys.length > FEW ? undefined : JSON.stringify(keys.flat())
}

export function countRuns(db: Database, now: number): RunCounts {
  const sql = 'SELECT status, count(*) FROM runs WHERE expires_at IS NULL OR expires_at > ? GROUP BY status'
  return Object.fromEntries(db.allValues(sql, now).map(([status, count]) => [status, { count: count as number }]))
}

/** A place in both orders. */
const cursorAfter = ({ key, run }: { key: number; run: RunSummary }): string => `${run.createdAt}-${key}`

function readCursor(cursor: string): { createdAt: number; key: number } {
  const [, createdAt, key] = /^(\d{1,15})-(\d{1,15})$/.exec(cursor) ?? []
  if (key === undefined)
    throw new InvalidInputError(`'${cursor}' is not a cursor; pass the cursor of the page before, unchanged`)
  return { createdAt: Number(createdAt), key: Number(key) }
}
