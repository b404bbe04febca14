import type { ErrorRecord } from '../../base/events.ts'
import type { Json } from '../../base/json.ts'
import type { RunRecord, RunStatus } from '../../ports/run.ts'
import type { RunSummary } from '../../ports/run-lists.ts'
import type { StoredRun } from '../../rules/storage.ts'
import { inShort, summaryOf } from '../../rules/summary.ts'
import type { Database, Value } from './database.ts'

/**
 * Between the tables and the types of the ports. Columns by position: named columns make SQLite
 * take twice as long.
 */

/** The columns that the rules read: narrow, because they are read again and again. */
const STATE = `r.key, r.id, r.workflow, r.version, r.format, r.status, r.generation, r.base_seq, r.epoch, r.stimulus, r.claims, r.wake_at,
  r.lease_until, r.created_at, r.ended_at, r.retention_ms, r.parent_id, r.parent_op, r.parent_generation, r.admission, r.passed, r.spared`
const STATE_COLUMNS = STATE.split(',').length
/** The columns that only readers of a run need. */
const REST =
  'r.attempt, r.waiting, r.secret, r.tags, r.progress, r.heartbeat, r.started_at, r.reparse, p.input, ' +
  'p.parsed, p.output, p.error, p.trace'
const SELECT_WHOLE = `SELECT ${STATE}, ${REST} FROM runs r JOIN payloads p ON p.run = r.key`

/** A run and what only this world knows of it. */
export interface Row extends StoredRun {
  readonly key: number
  /** The rest of it, where that was read or made along with it. */
  readonly whole?: RunRecord | undefined
}

export function selectState(db: Database, runId: string): Row | undefined {
  const values = db.values(`SELECT ${STATE} FROM runs r WHERE r.id = ?`, runId)
  return values && toRow(values)
}

export function selectWhole(db: Database, runId: string): Row | undefined {
  const values = db.values(`${SELECT_WHOLE} WHERE r.id = ?`, runId)
  return values && toWholeRow(values)
}

export function selectRecord(db: Database, row: Row): RunRecord {
  return toWholeRow(db.values(`${SELECT_WHOLE} WHERE r.key = ?`, row.key)!).whole!
}

/** `where` may speak of `runs r` and `payloads p`. */
export function selectSummaries(db: Database, where: string, ...values: Value[]): { key: number; run: RunSummary }[] {
  const columns = `${STATE}, r.attempt, r.waiting, r.tags, r.started_at, p.error`
  return db
    .allValues(`SELECT ${columns} FROM runs r JOIN payloads p ON p.run = r.key ${where}`, ...values)
    .map((all) => {
      const row = toRow(all)
      const [attempt, waiting, tags, startedAt, error] = all.slice(STATE_COLUMNS)
      const run = summaryOf(
        {
          ...row,
          attempt: attempt as number,
          tags: (parse(tags) as string[] | undefined) ?? [],
          startedAt: (startedAt as number | null) ?? undefined,
          wakeAt: row.leaseUntil ?? row.wakeAt,
          waitingFor: parse(waiting) as unknown as RunRecord['waitingFor'],
        },
        error === null ? undefined : inShort(row.workflow, parse(error) as unknown as ErrorRecord),
      )
      return { key: row.key, run }
    })
}

/**
 * Every field is always present, in this order: rows of different shapes slow down everything that
 * reads them.
 */
function toRow(values: Value[]): Row {
  const parentGeneration = values[18] as number | null
  return {
    key: values[0] as number,
    id: values[1] as string,
    workflow: values[2] as string,
    version: values[3] as number,
    format: values[4] as number,
    status: values[5] as RunStatus,
    generation: values[6] as number,
    baseSeq: values[7] as number,
    epoch: values[8] as number,
    stimulus: values[9] as number,
    claims: values[10] as number,
    wakeAt: (values[11] as number | null) ?? undefined,
    leaseUntil: (values[12] as number | null) ?? undefined,
    createdAt: values[13] as number,
    endedAt: (values[14] as number | null) ?? undefined,
    retentionMs: (values[15] as number | null) ?? undefined,
    parent:
      values[16] === null
        ? undefined
        : {
            runId: values[16] as string,
            op: values[17] as string,
            ...(parentGeneration !== null && { generation: parentGeneration }),
          },
    admission: parse(values[19]) as unknown as Row['admission'],
    passed: (values[20] as number | null) ?? undefined,
    spared: (values[21] as number | null) ?? undefined,
    whole: undefined,
  }
}

/** The row of a run that was just created. */
export function rowOf(key: number, whole: RunRecord): Row {
  return {
    key,
    id: whole.id,
    workflow: whole.workflow,
    version: whole.version,
    format: whole.format,
    status: whole.status,
    generation: whole.generation,
    baseSeq: whole.baseSeq,
    epoch: whole.epoch,
    stimulus: whole.stimulus,
    claims: 0,
    wakeAt: whole.wakeAt,
    leaseUntil: undefined,
    createdAt: whole.createdAt,
    endedAt: undefined,
    retentionMs: whole.retentionMs,
    parent: whole.parent,
    admission: whole.admission,
    passed: whole.passed,
    spared: undefined,
    whole,
  }
}

function toWholeRow(values: Value[]): Row {
  const row: { -readonly [K in keyof Row]: Row[K] } = toRow(values)
  row.whole = toRecord(row, values)
  return row
}

function toRecord(row: Row, values: Value[]): RunRecord {
  const [attempt, waiting, secret, tags, progress, heartbeat, startedAt, reparse, input, parsed, output, error, trace] =
    values.slice(STATE_COLUMNS)
  const record: RunRecord = {
    id: row.id,
    workflow: row.workflow,
    version: row.version,
    format: row.format,
    status: row.status,
    generation: row.generation,
    baseSeq: row.baseSeq,
    epoch: row.epoch,
    stimulus: row.stimulus,
    createdAt: row.createdAt,
    attempt: attempt as number,
    secret: secret as string,
    input: parse(input),
    tags: (parse(tags) as string[] | undefined) ?? [],
  }
  const lookAt = row.leaseUntil ?? row.wakeAt
  if (lookAt !== undefined) record.wakeAt = lookAt
  if (row.endedAt !== undefined) record.endedAt = row.endedAt
  if (row.retentionMs !== undefined) record.retentionMs = row.retentionMs
  if (row.parent) record.parent = row.parent
  if (row.admission) record.admission = row.admission
  if (row.passed !== undefined) record.passed = row.passed
  if (reparse !== null) record.reparse = true
  if (startedAt !== null) record.startedAt = startedAt as number
  if (parsed !== null) record.parsed = parse(parsed)!
  if (output !== null) record.output = parse(output)!
  if (error !== null) record.error = parse(error) as unknown as RunRecord['error']
  if (trace !== null) record.trace = parse(trace) as string
  if (waiting !== null) record.waitingFor = parse(waiting) as unknown as RunRecord['waitingFor']
  if (progress !== null) record.progress = parse(progress)!
  if (heartbeat !== null) record.heartbeat = parse(heartbeat) as unknown as RunRecord['heartbeat']
  return record
}

export function text(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

function parse(value: Value | undefined): Json | undefined {
  return typeof value === 'string' ? (JSON.parse(value) as Json) : undefined
}
