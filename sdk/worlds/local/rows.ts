import type { Frame, JournalEvent } from '../../engine/events.ts'
import type { Json } from '../../engine/json.ts'
import type { Message, RunRecord, RunStatus } from '../../ports.ts'
import type { Database, Value } from './database.ts'

/** Between the tables and the types of the ports. */

const RUN_COLUMNS = `r.key, r.id, r.workflow, r.version, r.status, r.generation, r.attempt, r.base_seq, r.epoch, r.stimulus, r.owner, r.lease_until,
  r.wake_at, r.waiting, r.secret, r.parent_id, r.parent_op, r.tags, r.progress, r.heartbeat, r.created_at, r.started_at, r.ended_at, r.retention_ms, p.input, p.output, p.error`

/** `runs r` and `payloads p`, in the order that `toFound` reads. */
export const SELECT_RUNS = `SELECT ${RUN_COLUMNS} FROM runs r JOIN payloads p ON p.run = r.key`

/** A run and what only this world knows of it. */
export interface Found {
  key: number
  /** When the lease ends of whoever holds it. */
  heldUntil: number | undefined
  run: RunRecord
}

export function selectRun(db: Database, runId: string): Found | undefined {
  const values = db.values(`${SELECT_RUNS} WHERE r.id = ?`, runId)
  return values && toFound(values)
}

/** By position: an object with a name for each of these columns takes SQLite twice as long to make. */
export function toFound(values: Value[]): Found {
  const [key, id, workflow, version, status, generation, attempt, baseSeq, epoch, stimulus, owner, leaseUntil] = values
  const [wakeAt, waiting, secret, parentId, parentOp, tags, progress, heartbeat, createdAt, startedAt, endedAt, retentionMs, input, output, error] =
    values.slice(12)
  const run: RunRecord = {
    id: id as string,
    workflow: workflow as string,
    version: version as number,
    status: status as RunStatus,
    input: parse(input),
    generation: generation as number,
    attempt: attempt as number,
    baseSeq: baseSeq as number,
    epoch: epoch as number,
    stimulus: stimulus as number,
    secret: secret as string,
    tags: (parse(tags) as string[] | undefined) ?? [],
    createdAt: createdAt as number,
  }
  if (output !== null) run.output = parse(output)!
  if (error !== null) run.error = parse(error) as unknown as RunRecord['error']
  if (wakeAt !== null) run.wakeAt = wakeAt as number
  if (waiting !== null) run.waitingFor = parse(waiting) as unknown as RunRecord['waitingFor']
  if (parentId !== null) run.parent = { runId: parentId as string, op: parentOp as string }
  if (progress !== null) run.progress = parse(progress)!
  if (heartbeat !== null) run.heartbeat = parse(heartbeat) as unknown as RunRecord['heartbeat']
  if (startedAt !== null) run.startedAt = startedAt as number
  if (endedAt !== null) run.endedAt = endedAt as number
  if (retentionMs !== null) run.retentionMs = retentionMs as number
  return { key: key as number, heldUntil: owner === null ? undefined : (leaseUntil as number), run }
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
