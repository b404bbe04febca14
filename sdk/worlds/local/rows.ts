import type { Frame, JournalEvent } from '../../engine/events.ts'
import type { Json } from '../../engine/json.ts'
import type { Message, RunRecord, RunStatus } from '../../ports.ts'
import type { Database, Row, Value } from './database.ts'

/** Between the tables and the types of the ports. */

export const RUN_COLUMNS = `r.key, r.id, r.workflow, r.version, r.status, r.generation, r.attempt, r.base_seq, r.epoch, r.stimulus, r.owner, r.lease_until,
  r.wake_at, r.waiting, r.secret, r.parent_id, r.parent_op, r.tags, r.progress, r.heartbeat, r.created_at, r.started_at, r.ended_at, r.retention_ms, p.input, p.output, p.error`

export function selectRun(db: Database, runId: string): Row | undefined {
  return db.row(`SELECT ${RUN_COLUMNS} FROM runs r JOIN payloads p ON p.run = r.key WHERE r.id = ?`, runId)
}

export function toRecord(row: Row): RunRecord {
  const record: RunRecord = {
    id: row.id as string,
    workflow: row.workflow as string,
    version: row.version as number,
    status: row.status as RunStatus,
    input: parse(row.input),
    generation: row.generation as number,
    attempt: row.attempt as number,
    baseSeq: row.base_seq as number,
    epoch: row.epoch as number,
    stimulus: row.stimulus as number,
    secret: row.secret as string,
    tags: (parse(row.tags) as string[] | undefined) ?? [],
    createdAt: row.created_at as number,
  }
  if (row.output !== null) record.output = parse(row.output)!
  if (row.error !== null) record.error = parse(row.error) as unknown as RunRecord['error']
  if (row.wake_at !== null) record.wakeAt = row.wake_at as number
  if (row.waiting !== null) record.waitingFor = parse(row.waiting) as unknown as RunRecord['waitingFor']
  if (row.parent_id !== null) record.parent = { runId: row.parent_id as string, op: row.parent_op as string }
  if (row.progress !== null) record.progress = parse(row.progress)!
  if (row.heartbeat !== null) record.heartbeat = parse(row.heartbeat) as unknown as RunRecord['heartbeat']
  if (row.started_at !== null) record.startedAt = row.started_at as number
  if (row.ended_at !== null) record.endedAt = row.ended_at as number
  if (row.retention_ms !== null) record.retentionMs = row.retention_ms as number
  return record
}

/** I1: false when the slot is taken. */
export function insertFrame(db: Database, run: Value, frame: Frame): boolean {
  const events = JSON.stringify(frame.events).slice(1, -1)
  return db.run('INSERT OR IGNORE INTO frames (run, seq, at, epoch, events) VALUES (?, ?, ?, ?, ?)', run, frame.seq, frame.at, frame.epoch, events) === 1
}

/**
 * All frames from one slot on. SQLite joins them into a single flat array, `[at, event, event, at, event, …]`, because
 * one large JSON.parse is several times faster than a row and a parse for each frame. Slots have no gaps, so the first
 * one tells the others. The epoch, of use only to people, is left out.
 */
export function selectFrames(db: Database, run: Value, fromSeq: number): Frame[] {
  const row = db.row(
    `SELECT min(seq) AS first, '[' || group_concat(at || ',' || events, ',') || ']' AS journal
     FROM (SELECT seq, at, events FROM frames WHERE run = ? AND seq >= ? ORDER BY seq)`,
    run,
    fromSeq,
  )
  if (typeof row?.journal !== 'string') return []
  const flat = JSON.parse(row.journal) as (number | JournalEvent)[]
  const frames: Frame[] = []
  let seq = row.first as number
  let events: JournalEvent[] = []
  for (const part of flat) {
    if (typeof part === 'number') frames.push({ seq: seq++, at: part, epoch: 0, events: (events = []) })
    else events.push(part)
  }
  return frames
}

/** One that is known to be there. */
export function selectFrame(db: Database, run: Value, seq: number): Frame {
  const row = db.row('SELECT at, epoch, events FROM frames WHERE run = ? AND seq = ?', run, seq)!
  return { seq, at: row.at as number, epoch: row.epoch as number, events: JSON.parse(`[${row.events}]`) as JournalEvent[] }
}

export function selectInbox(db: Database, run: Value): Message[] {
  return db.rows('SELECT body FROM inbox WHERE run = ? AND body IS NOT NULL ORDER BY position', run).map((row) => JSON.parse(row.body as string) as Message)
}

export function text(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

function parse(value: Value | undefined): Json | undefined {
  return typeof value === 'string' ? (JSON.parse(value) as Json) : undefined
}
