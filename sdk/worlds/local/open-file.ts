import { accessSync, constants, statSync } from 'node:fs'
import { explained, freeBytes, isBusy } from './local-file-error.ts'
import { keepPrivate } from './private-file.ts'
import { migrate } from './schema.ts'
import { DatabaseSync } from './sqlite.ts'

/** SQLite waits in the middle of a call and blocks the process: not for longer than this. */
const WAIT_IN_PLACE_MS = 200
/** How long all waiting for a lock may take, before it is an error. */
export const PATIENCE_MS = 30_000
const PAGE_BYTES = 4_096
const LOG_PAGES = 4_000
const LOG_BYTES = LOG_PAGES * PAGE_BYTES
/** A log that takes most of the free space would leave no room for data. */
const ROOM_FOR_LOG = 4 * LOG_BYTES
/** In KiB, as SQLite wants it. */
const CACHE_SIZE = -16_384

/**
 * Opens the file, and creates it or migrates it to our format if needed. Any number of processes
 * may do so at once.
 */
export function openFile(path: string): DatabaseSync {
  const isInMemory = path === ':memory:'
  let sqlite: DatabaseSync | undefined
  try {
    if (!isInMemory) {
      keepPrivate(path)
      // SQLite would open a read-only file and fail at the first write.
      if (statSync(path, { throwIfNoEntry: false })?.isFile()) accessSync(path, constants.R_OK | constants.W_OK)
    }
    const opened = new DatabaseSync(path, { timeout: WAIT_IN_PLACE_MS })
    sqlite = opened
    // Several processes that switch a new file to WAL at once conflict, and SQLite does not retry
    // that by itself.
    patiently(() => opened.exec('PRAGMA journal_mode = WAL'))
    // Checkpoints every 16 MB instead of every 4: each costs several fsyncs.
    opened.exec(
      `PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${LOG_PAGES}; PRAGMA cache_size = ${CACHE_SIZE}`,
    )
    patiently(() => migrate(opened, path))
    if (!isInMemory) stretchLog(opened, path)
    return opened
  } catch (error) {
    sqlite?.close()
    throw explained(path, error)
  }
}

/** Tries again for as long as another process has the lock. */
function patiently(attempt: () => void): void {
  for (const until = performance.now() + PATIENCE_MS; ; ) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error
      // Random, or processes that collided once would collide again.
      sleepInPlace(1 + Math.random() * 20)
    }
  }
}

function sleepInPlace(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/**
 * An fsync that also records a new file length takes twice as long. So the log gets its full length
 * at once: a transaction too large for the cache spills into it, and its rollback leaves only the
 * space. This is an optimisation: where it fails, the log grows as needed.
 */
function stretchLog(sqlite: DatabaseSync, path: string): void {
  const isLong = () => (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) >= LOG_BYTES
  if (isLong()) return
  try {
    if (freeBytes(path) < ROOM_FOR_LOG) return
    // Checkpointed now, the log is empty when it is discarded below.
    sqlite.exec('PRAGMA wal_checkpoint; PRAGMA cache_size = 10; BEGIN IMMEDIATE')
    // Another process may have done it while this one waited for the lock.
    if (!isLong()) sqlite.exec(`CREATE TABLE room (bytes BLOB); INSERT INTO room VALUES (zeroblob(${LOG_BYTES}))`)
    sqlite.exec('ROLLBACK')
  } catch {
    if (sqlite.isTransaction) sqlite.exec('ROLLBACK')
    sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    sqlite.exec(`PRAGMA cache_size = ${CACHE_SIZE}`)
  }
}
