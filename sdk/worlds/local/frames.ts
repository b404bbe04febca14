import type { Frame, JournalEvent } from '../../engine/events.ts'
import { FORMAT } from '../../engine/names.ts'
import { refuseNewer } from '../../rules/limits.ts'
import type { Database } from './database.ts'
import type { Row } from './rows.ts'

/** I1: false when the slot is taken. */
export function insertFrame(db: Database, run: number, { seq, at, epoch, events }: Frame): boolean {
  const inner = JSON.stringify(events).slice(1, -1)
  return db.run('INSERT OR IGNORE INTO frames (run, seq, at, epoch, events, format) VALUES (?, ?, ?, ?, ?, ?)', run, seq, at, epoch, inner, FORMAT) === 1
}

/**
 * All frames from one slot on. SQLite joins them into a single flat array, `[at, epoch, event, event, at, epoch, …]`,
 * because one large JSON.parse is several times faster than a row and a parse for each frame. Slots have no gaps, so
 * the first one tells the others.
 */
export function selectFrames(db: Database, row: Row, fromSeq: number, toSeq = Number.MAX_SAFE_INTEGER, onBytes?: (bytes: number) => void): Frame[] {
  const range = [row.key, fromSeq, toSeq]
  const size = db.values(`SELECT min(seq), sum(octet_length(events)), max(format) FROM frames WHERE ${RANGE}`, ...range)!
  const [first, bytes, format] = size as (number | null)[]
  if (first === null || first === undefined) return []
  if (format! > FORMAT) refuseNewer(`the journal of run '${row.id}'`, format!)
  onBytes?.(bytes!)
  if (bytes! > MOST_AT_ONCE && fromSeq < toSeq) {
    const last = db.values(`SELECT max(seq) FROM frames WHERE ${RANGE}`, ...range)![0] as number
    const middle = Math.floor((first + last) / 2)
    if (first < last) return [...selectFrames(db, row, first, middle), ...selectFrames(db, row, middle + 1, last)]
  }
  const journal = db.values(
    `SELECT '[' || group_concat(at || ',' || epoch || ',' || events, ',') || ']'
     FROM (SELECT at, epoch, events FROM frames WHERE ${RANGE} ORDER BY seq)`,
    ...range,
  )![0] as string
  return inFrames(JSON.parse(journal) as (number | JournalEvent)[], first)
}

/** SQLite makes longer texts than Node takes. */
const MOST_AT_ONCE = 64 * 1_048_576

const RANGE = 'run = ? AND seq BETWEEN ? AND ?'

function inFrames(flat: readonly (number | JournalEvent)[], first: number): Frame[] {
  const frames: Frame[] = []
  let events: JournalEvent[] = []
  for (let i = 0; i < flat.length; i++) {
    const part = flat[i]!
    if (typeof part !== 'number') events.push(part)
    else frames.push({ seq: first + frames.length, at: part, epoch: flat[++i] as number, events: (events = []) })
  }
  return frames
}
