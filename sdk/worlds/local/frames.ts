import type { Frame, JournalEvent } from '../../base/events.ts'
import { FORMAT } from '../../base/names.ts'
import { refuseNewer } from '../../rules/limits.ts'
import type { Database } from './database.ts'
import type { Row } from './rows.ts'

/** I1: false when the slot is taken. */
export function insertFrame(db: Database, run: number, { seq, at, epoch, events }: Frame): boolean {
  const inner = JSON.stringify(events).slice(1, -1)
  return (
    db.run(
      'INSERT OR IGNORE INTO frames (run, seq, at, epoch, events, format) VALUES (?, ?, ?, ?, ?, ?)',
      run,
      seq,
      at,
      epoch,
      inner,
      FORMAT,
    ) === 1
  )
}

/**
 * All frames from one slot on. SQLite joins them into a single flat array, `[at, epoch, event, event, at, epoch, …]`,
 * because one large JSON.parse is several times faster than a row and a parse for each frame. Slots have no gaps, so
 * the first one tells the others.
 */
export function selectFrames(
  db: Database,
  row: Row,
  fromSeq: number,
  toSeq = Number.MAX_SAFE_INTEGER,
  onBytes?: (bytes: number) => void,
): Frame[] {
  const range = [row.key, fromSeq, toSeq]
  // Most journals are short, and one statement loads them.
  const [first, count, bytes, largest, format, joined] = db.values(SHORT_JOURNAL, ...range)! as [
    number | null,
    number,
    number,
    number,
    number,
    string,
  ]
  if (first === null) return []
  if (count === SHORT || largest > SMALL) return selectLong(db, row, range, onBytes)
  if (format > FORMAT) refuseNewer(`the history of run '${row.id}'`, format)
  onBytes?.(bytes)
  return inFrames(joined, first)
}

/** Measured before it is joined: the result may be longer than the longest string of Node. */
function selectLong(db: Database, row: Row, range: number[], onBytes?: (bytes: number) => void): Frame[] {
  const size = db.values(
    `SELECT min(seq), max(seq), sum(octet_length(events)), max(format) FROM frames WHERE ${RANGE}`,
    ...range,
  )!
  const [first, last, bytes, format] = size as [number, number, number, number]
  if (format > FORMAT) refuseNewer(`the history of run '${row.id}'`, format)
  onBytes?.(bytes)
  if (bytes > MOST_AT_ONCE && first < last) {
    const middle = Math.floor((first + last) / 2)
    return [...selectFrames(db, row, first, middle), ...selectFrames(db, row, middle + 1, last)]
  }
  return inFrames(
    db.values(
      `SELECT group_concat(${JOINED}, ',') FROM (SELECT at, epoch, events FROM frames WHERE ${RANGE} ORDER BY seq)`,
      ...range,
    )![0] as string,
    first,
  )
}

/** SQLite makes longer texts than Node accepts. */
const MOST_AT_ONCE = 64 * 1_048_576

const RANGE = 'run = ? AND seq BETWEEN ? AND ?'
const JOINED = `at || ',' || epoch || ',' || events`
const SHORT = 100
const SMALL = 100_000
const SHORT_JOURNAL = `SELECT min(seq), count(*), sum(size), max(size), max(format), group_concat(iif(size > ${SMALL}, NULL, ${JOINED}), ',')
  FROM (SELECT seq, at, epoch, events, format, octet_length(events) AS size FROM frames WHERE ${RANGE} ORDER BY seq LIMIT ${SHORT})`

function inFrames(joined: string, first: number): Frame[] {
  const flat = JSON.parse(`[${joined}]`) as (number | JournalEvent)[]
  const frames: Frame[] = []
  let events: JournalEvent[] = []
  for (let i = 0; i < flat.length; i++) {
    const part = flat[i]!
    if (typeof part !== 'number') events.push(part)
    else frames.push({ seq: first + frames.length, at: part, epoch: flat[++i] as number, events: (events = []) })
  }
  return frames
}
