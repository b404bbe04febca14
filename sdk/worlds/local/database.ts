import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'

/**
 * `runs` is what scheduling touches again and again, so it is narrow; payloads, which are written once and read
 * rarely, live beside it. A frame's events are stored without their outer brackets, so that a whole journal can be
 * put together by SQLite and parsed in one go.
 */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS runs (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  workflow TEXT NOT NULL,
  version INTEGER NOT NULL,
  status TEXT NOT NULL,
  format INTEGER NOT NULL DEFAULT 1,
  generation INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 1,
  base_seq INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0,
  stimulus INTEGER NOT NULL DEFAULT 0,
  claims INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  lease_until INTEGER,
  wake_at INTEGER,
  waiting TEXT,
  secret TEXT NOT NULL,
  parent_id TEXT,
  parent_op TEXT,
  parent_generation INTEGER,
  tags TEXT,
  progress TEXT,
  heartbeat TEXT,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  retention_ms INTEGER,
  expires_at INTEGER,
  reparse INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS runs_to_look_at ON runs (coalesce(lease_until, wake_at)) WHERE wake_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_by_workflow ON runs (workflow, key);
CREATE INDEX IF NOT EXISTS runs_in_trouble ON runs (status, key) WHERE status IN ('stuck', 'failed');
CREATE INDEX IF NOT EXISTS runs_expiring ON runs (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS payloads (run INTEGER PRIMARY KEY, input TEXT, parsed TEXT, output TEXT, error TEXT) STRICT;
CREATE TABLE IF NOT EXISTS frames (
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  events TEXT NOT NULL,
  format INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS inbox (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL,
  id TEXT NOT NULL,
  body TEXT,
  at INTEGER NOT NULL DEFAULT 0,
  UNIQUE (run, id)
) STRICT;
CREATE TABLE IF NOT EXISTS tags (tag TEXT NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (tag, run)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tasks (
  id TEXT PRIMARY KEY,
  type TEXT NOT NULL,
  version INTEGER NOT NULL,
  look_at INTEGER,
  body TEXT NOT NULL,
  input TEXT,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tasks_to_look_at ON tasks (type, look_at) WHERE look_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS tasks_expiring ON tasks (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS documents (
  collection TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  version INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (collection, key)
) STRICT;
CREATE INDEX IF NOT EXISTS documents_expiring ON documents (expires_at) WHERE expires_at IS NOT NULL;
`

const PAGE_BYTES = 4_096
const LOG_PAGES = 4_000
/** In KiB, as SQLite wants it. */
const CACHE_SIZE = -16_384
const CROWD = 4
const LONGEST_WAIT_MS = 12

/** What SQLite gives and takes here. */
export type Value = string | number | null
export type Row = Record<string, Value>

/** One connection, its statements prepared once, and its writes grouped. */
export class Database {
  readonly isInMemory: boolean
  private readonly sqlite: DatabaseSync
  private readonly statements = new Map<string, StatementSync>()
  private queue: Queued[] = []
  private flushIsDue = false
  private queuedAt = 0
  private lengthBefore = 0
  private lastBatch = 0
  private isClosed = false

  constructor(path: string) {
    this.isInMemory = path === ':memory:'
    if (!this.isInMemory) mkdirSync(dirname(path), { recursive: true })
    this.sqlite = new DatabaseSync(path, { timeout: 10_000 })
    // The log is folded into the file every 16 MB instead of every 4: each time costs several fsyncs.
    this.sqlite.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${LOG_PAGES}; PRAGMA cache_size = ${CACHE_SIZE}`)
    this.sqlite.exec(SCHEMA)
    if (!this.isInMemory) this.stretchLog(`${path}-wal`)
  }

  row(sql: string, ...values: Value[]): Row | undefined {
    return this.prepare(sql).get(...values) as Row | undefined
  }

  /** The same without names, for rows with many columns. */
  values(sql: string, ...values: Value[]): Value[] | undefined {
    return this.prepareUnnamed(sql).get(...values) as Value[] | undefined
  }

  allValues(sql: string, ...values: Value[]): Value[][] {
    return this.prepareUnnamed(sql).all(...values) as unknown as Value[][]
  }

  rows(sql: string, ...values: Value[]): Row[] {
    return this.prepare(sql).all(...values) as Row[]
  }

  /** How many rows it changed. */
  run(sql: string, ...values: Value[]): number {
    return Number(this.prepare(sql).run(...values).changes)
  }

  /**
   * Runs `operation` in the next transaction, with whatever else is waiting: one fsync serves all of them. The promise
   * resolves when it is on disk; `mayBeLost` is for what a power cut may undo without harm, and waits for no disk.
   */
  write<T>(operation: () => T, durability?: 'mayBeLost'): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.queue.push({ operation, mayBeLost: durability === 'mayBeLost', resolve: resolve as (value: unknown) => void, reject })
      if (this.flushIsDue) return
      this.flushIsDue = true
      if (this.isInMemory) return queueMicrotask(this.flush)
      this.queuedAt = performance.now()
      this.lengthBefore = 0
      setImmediate(this.flushWhenQuiet)
    })
  }

  close(): void {
    if (this.isClosed) return
    this.flush()
    this.isClosed = true
    this.statements.clear()
    this.sqlite.close()
  }

  /**
   * A lone writer is served at once. Under load an fsync costs more than the little wait that lets the rest of the
   * crowd come in, so the transaction stays open to newcomers until a turn of the event loop brings none.
   */
  private readonly flushWhenQuiet = (): void => {
    const { length } = this.queue
    const isCrowded = this.lastBatch >= CROWD && length > this.lengthBefore
    if (isCrowded && performance.now() - this.queuedAt < LONGEST_WAIT_MS) {
      this.lengthBefore = length
      setImmediate(this.flushWhenQuiet)
    } else this.flush()
  }

  private readonly flush = (): void => {
    this.flushIsDue = false
    const batch = this.queue
    if (batch.length === 0) return
    this.queue = []
    this.lastBatch = batch.length
    if (this.isClosed) {
      for (const { reject } of batch) reject(new Error('the local world was closed'))
      return
    }
    try {
      this.commitTogether(batch)
    } catch (error) {
      if (batch.length === 1) return batch[0]!.reject(error)
      // One operation spoilt the transaction: each gets one of its own, so that only the culprit fails.
      for (const queued of batch) {
        try {
          this.commitTogether([queued])
        } catch (ownError) {
          queued.reject(ownError)
        }
      }
    }
  }

  private commitTogether(batch: readonly Queued[]): void {
    const results: unknown[] = new Array(batch.length)
    const needsDisk = batch.some(({ mayBeLost }) => !mayBeLost)
    // What is committed without fsync is still in order: the next commit with one makes it durable too.
    // (By `exec`, because this pragma takes effect when it is compiled, and statements are compiled once.)
    if (!needsDisk) this.sqlite.exec('PRAGMA synchronous = NORMAL')
    try {
      this.commitAll(batch, results)
    } finally {
      if (!needsDisk) this.sqlite.exec('PRAGMA synchronous = FULL')
    }
    for (let i = 0; i < batch.length; i++) batch[i]!.resolve(results[i])
  }

  private commitAll(batch: readonly Queued[], results: unknown[]): void {
    this.run('BEGIN IMMEDIATE')
    try {
      for (let i = 0; i < batch.length; i++) results[i] = batch[i]!.operation()
      this.run('COMMIT')
    } catch (error) {
      if (this.sqlite.isTransaction) this.run('ROLLBACK')
      throw error
    }
  }

  /**
   * An fsync that also has to note a new length of the file takes twice as long. So the log gets its full length at once:
   * a transaction too large for the cache spills into it, and what is rolled back leaves nothing but the room it took.
   */
  private stretchLog(log: string): void {
    if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) >= LOG_PAGES * PAGE_BYTES) return
    this.sqlite.exec('PRAGMA cache_size = 10; BEGIN IMMEDIATE')
    this.sqlite.exec(`CREATE TABLE room (bytes BLOB); INSERT INTO room VALUES (zeroblob(${LOG_PAGES * PAGE_BYTES}))`)
    this.sqlite.exec(`ROLLBACK; PRAGMA cache_size = ${CACHE_SIZE}`)
  }

  private prepareUnnamed(sql: string): StatementSync {
    const statement = this.prepare(sql)
    statement.setReturnArrays(true)
    return statement
  }

  private prepare(sql: string): StatementSync {
    let statement = this.statements.get(sql)
    if (!statement) {
      statement = this.sqlite.prepare(sql)
      this.statements.set(sql, statement)
    }
    return statement
  }
}

interface Queued {
  operation: () => unknown
  mayBeLost: boolean
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
