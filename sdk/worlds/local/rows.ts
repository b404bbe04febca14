import type { Json } from '../../engine/json.ts'
import type { RunRecord, RunStatus } from '../../ports.ts'
import type { StoredRun } from '../../rules/storage.ts'
import type { Database, Value } from './database.ts'

/** Between the tables and the types of the ports. By position: an object with a name for each column takes SQLite twice as long to make. */

/** What the rules look at: narrow, because it is read again and again. */
const STATE = `r.key, r.id, r.workflow, r.version, r.format, r.status, r.generation, r.base_seq, r.epoch, r.stimulus, r.claims, r.wake_at,
  r.lease_until, r.created_at, r.ended_at, r.retention_ms, r.parent_id, r.parent_op, r.parent_generation`
/** What only readers want. */
const REST = 'r.attempt, r.waiting, r.secret, r.tags, r.progress, r.heartbeat, r.started_at, r.reparse, p.input, p.parsed, p.output, p.error'

/** A run and what only this world knows of it. */
export interface Row extends StoredRun {
  readonly key: number
  /** For a run that this process has just made. */
  readonly fresh?: RunRecord | undefined
}

export function selectState(db: Database, runId: string): Row | undefined {
  const values = db.values(`SELECT ${STATE} FROM runs r WHERE r.id = ?`, runId)
  return values && toRow(values)
}

export function selectRecord(db: Database, row: Row): RunRecord {
  return toRecord(row, db.values(`SELECT ${REST} FROM runs r JOIN payloads p ON p.run = r.key WHERE r.key = ?`, row.key)!)
}

const STATE_COLUMNS = STATE.split(',').length

/** `where` may speak of `runs r` and `payloads p`. */
export function selectRecords(db: Database, where: string, ...values: Value[]): { key: number; run: RunRecord }[] {
  return db.allValues(`SELECT ${STATE}, ${REST} FROM runs r JOIN payloads p ON p.run = r.key ${where}`, ...values).map((all) => {
    const row = toRow(all)
    return { key: row.key, run: toRecord(row, all.slice(STATE_COLUMNS)) }
  })
}

function toRow(values: Value[]): Row {
  const [key, id, workflow, version, format, status, generation, baseSeq, epoch, stimulus, claims, wakeAt, leaseUntil] = values
  const row: { -readonly [K in keyof Row]: Row[K] } = {
    key: key as number,
    id: id as string,
    workflow: workflow as string,
    version: version as number,
    format: format as number,
    status: status as RunStatus,
    generation: generation as number,
    baseSeq: baseSeq as number,
    epoch: epoch as number,
    stimulus: stimulus as number,
    claims: claims as number,
    createdAt: values[13] as number,
  }
  if (wakeAt !== null) row.wakeAt = wakeAt as number
  if (leaseUntil !== null) row.leaseUntil = leaseUntil as number
  if (values[14] !== null) row.endedAt = values[14] as number
  if (values[15] !== null) row.retentionMs = values[15] as number
  if (values[16] !== null) {
    const generationOfParent = values[18] as number | null
    row.parent = { runId: values[16] as string, op: values[17] as string, ...(generationOfParent !== null && { generation: generationOfParent }) }
  }
  return row
}

function toRecord(row: Row, rest: Value[]): RunRecord {
  const { id, workflow, version, format, status, generation, baseSeq, epoch, stimulus, createdAt, wakeAt, leaseUntil, endedAt, retentionMs, parent } = row
  const [attempt, waiting, secret, tags, progress, heartbeat, startedAt, reparse, input, parsed, output, error] = rest
  const lookAt = leaseUntil ?? wakeAt
  return {
    id,
    workflow,
    version,
    format,
    status,
    generation,
    baseSeq,
    epoch,
    stimulus,
    createdAt,
    attempt: attempt as number,
    secret: secret as string,
    input: parse(input),
    tags: (parse(tags) as string[] | undefined) ?? [],
    ...(lookAt !== undefined && { wakeAt: lookAt }),
    ...(endedAt !== undefined && { endedAt }),
    ...(retentionMs !== undefined && { retentionMs }),
    ...(parent && { parent }),
    ...(reparse !== null && { reparse: true as const }),
    ...(startedAt !== null && { startedAt: startedAt as number }),
    ...(parsed !== null && { parsed: parse(parsed)! }),
    ...(output !== null && { output: parse(output)! }),
    ...(error !== null && { error: parse(error) as unknown as RunRecord['error'] }),
    ...(waiting !== null && { waitingFor: parse(waiting) as unknown as RunRecord['waitingFor'] }),
    ...(progress !== null && { progress: parse(progress)! }),
    ...(heartbeat !== null && { heartbeat: parse(heartbeat) as unknown as RunRecord['heartbeat'] }),
  }
}

export function text(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

function parse(value: Value | undefined): Json | undefined {
  return typeof value === 'string' ? (JSON.parse(value) as Json) : undefined
}
