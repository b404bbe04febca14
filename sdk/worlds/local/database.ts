import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { explained, isBusy } from './local-file-error.ts'
import { openFile, PATIENCE_MS } from './open-file.ts'

const CROWD = 4
const LONGEST_WAIT_MS = 12

/** What SQLite gives and takes here. */
export type Value = string | number | null
export type Row = Record<string, Value>

/** For `LIMIT`: a bare parameter there makes SQLite plan the statement anew each time it runs. */
export const BOUND = 'max(?, 0)'

/** One connection, its statements prepared once, and its writes grouped. */
export class Database {
  readonly isInMemory: boolean
  private readonly path: string
  private readonly sqlite: DatabaseSync
  private readonly statements = new Map<string, StatementSync>()
  private queue: Queued[] = []
  private flushIsDue = false
  private queuedAt = 0
  private lengthBefore = 0
  private lastBatch = 0
  /** Since when another process has held the lock that this one waits for. */
  private lockedSince: number | undefined
  private isClosed = false

  /** How long another process may keep the file locked before that is an error. */
  private readonly patienceMs: number

  constructor(path: string, { patienceMs = PATIENCE_MS }: { patienceMs?: number } = {}) {
    this.path = path
    this.patienceMs = patienceMs
    this.isInMemory = path === ':memory:'
    this.sqlite = openFile(path)
  }

  row(sql: string, ...values: Value[]): Row | undefined {
    try {
      return this.prepare(sql).get(...values) as Row | undefined
    } catch (error) {
      throw explained(this.path, error)
    }
  }

  /** The same without names, for rows with many columns. */
  values(sql: string, ...values: Value[]): Value[] | undefined {
    try {
      return this.prepareUnnamed(sql).get(...values) as Value[] | undefined
    } catch (error) {
      throw explained(this.path, error)
    }
  }

  allValues(sql: string, ...values: Value[]): Value[][] {
    try {
      return this.prepareUnnamed(sql).all(...values) as unknown as Value[][]
    } catch (error) {
      throw explained(this.path, error)
    }
  }

  rows(sql: string, ...values: Value[]): Row[] {
    try {
      return this.prepare(sql).all(...values) as Row[]
    } catch (error) {
      throw explained(this.path, error)
    }
  }

  /** How many rows it changed. */
  run(sql: string, ...values: Value[]): number {
    try {
      return Number(this.prepare(sql).run(...values).changes)
    } catch (error) {
      throw explained(this.path, error)
    }
  }

  /**
   * Runs `operation` in the next transaction, with whatever else is waiting: one fsync serves all of them. The promise
   * resolves when it is on disk; `mayBeLost` is for what a power cut may undo without harm, and waits for no disk.
   * `whenDone` is called then, too.
   */
  write<T>(operation: () => T, durability?: 'mayBeLost', whenDone?: () => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.queue.push({
        operation,
        mayBeLost: durability === 'mayBeLost',
        whenDone,
        resolve: resolve as (value: unknown) => void,
        reject,
      })
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
    // Writes that another process's lock has delayed.
    this.flush()
    this.statements.clear()
    this.sqlite.close()
  }

  /**
   * A lone writer is served at once. Under load an fsync costs more than waiting briefly for other
   * writers, so the transaction stays open until a turn of the event loop adds none.
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
      if (isBusy(error)) return this.waitForLock(batch, error)
      if (batch.length === 1) return batch[0]!.reject(error)
      // One operation failed the transaction: each gets one of its own, so that only the failing
      // one is rejected.
      for (const queued of batch) {
        try {
          this.commitTogether([queued])
        } catch (ownError) {
          queued.reject(ownError)
        }
      }
    }
  }

  /**
   * Another process is writing, or was stopped while it wrote. SQLite has waited a little, in
   * place; the rest is waited asynchronously, with the process free for other work. Nothing has
   * begun, so the same operations are next.
   */
  private waitForLock(batch: Queued[], error: unknown): void {
    const now = performance.now()
    this.lockedSince ??= now
    if (now - this.lockedSince >= this.patienceMs) {
      this.lockedSince = undefined
      for (const { reject } of batch) reject(error)
      return
    }
    this.queue = batch
    this.flushIsDue = true
    setImmediate(this.flush)
  }

  private commitTogether(batch: readonly Queued[]): void {
    const results: unknown[] = new Array(batch.length)
    const needsDisk = batch.some(({ mayBeLost }) => !mayBeLost)
    // What is committed without fsync stays in order: the next commit with one makes it durable
    // too.
    // (By `exec`, because this pragma takes effect when it is compiled, and statements are compiled once.)
    if (!needsDisk) this.sqlite.exec('PRAGMA synchronous = NORMAL')
    try {
      this.commitAll(batch, results)
    } finally {
      if (!needsDisk) this.sqlite.exec('PRAGMA synchronous = FULL')
    }
    for (let i = 0; i < batch.length; i++) batch[i]!.resolve(results[i])
    for (const { whenDone } of batch) whenDone?.()
  }

  private commitAll(batch: readonly Queued[], results: unknown[]): void {
    this.run('BEGIN IMMEDIATE')
    this.lockedSince = undefined
    try {
      for (let i = 0; i < batch.length; i++) results[i] = batch[i]!.operation()
      this.run('COMMIT')
    } catch (error) {
      if (this.sqlite.isTransaction) this.run('ROLLBACK')
      throw error
    }
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
  whenDone: (() => void) | undefined
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
