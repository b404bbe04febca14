import { existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { explained } from './local-file-error.ts'
import { DatabaseSync } from './sqlite.ts'

/** Other processes that check whether this one is alive hold its lock for a moment. */
const WAIT_FOR_NEIGHBOURS_MS = 5_000

/**
 * Tells which runners of a database file are alive, without clocks or process ids: each holds a
 * lock that the operating system drops when its process dies, however it dies. SQLite provides such
 * locks.
 */
export class Liveness {
  private readonly path: string
  private readonly lock: DatabaseSync

  constructor(databasePath: string, owner: string) {
    this.path = lockPath(databasePath, owner)
    try {
      this.lock = hold(this.path)
    } catch (error) {
      throw explained(this.path, error)
    }
  }

  release(): void {
    this.lock.close()
    rmSync(this.path, { force: true })
  }
}

/**
 * Between creating the file and locking it, it looks like that of a dead runner, and another
 * process may remove it: then it is created again.
 */
function hold(path: string): DatabaseSync {
  for (;;) {
    const lock = new DatabaseSync(path, { timeout: WAIT_FOR_NEIGHBOURS_MS })
    try {
      lock.exec('BEGIN EXCLUSIVE')
      if (existsSync(path)) return lock
    } catch (error) {
      if (existsSync(path)) {
        lock.close()
        throw error
      }
    }
    lock.close()
  }
}

/** Runners that left a lock file behind and no longer hold it. Their files are removed. */
export function deadOwners(databasePath: string): string[] {
  return owners(databasePath).filter((owner) => clearedAway(lockPath(databasePath, owner)))
}

/** Runners that have a lock file, dead or alive. */
export function owners(databasePath: string): string[] {
  const prefix = `${basename(databasePath)}.runner-`
  const files = readdirSync(dirname(databasePath)).filter((file) => file.startsWith(prefix) && file.endsWith('.lock'))
  return files.map((file) => file.slice(prefix.length, -'.lock'.length))
}

/**
 * False if another process holds it or has removed it first. It is removed under its lock, so that
 * its owner cannot take it in between.
 */
function clearedAway(path: string): boolean {
  let probe: DatabaseSync | undefined
  try {
    probe = new DatabaseSync(existingFile(path), { timeout: 0 })
    probe.exec('BEGIN EXCLUSIVE')
    rmSync(path, { force: true })
    return true
  } catch {
    return false
  } finally {
    probe?.close()
  }
}

/** Opened this way, it is not created if it is missing. */
function existingFile(path: string): URL {
  const url = pathToFileURL(path)
  url.searchParams.set('mode', 'rw')
  return url
}

function lockPath(databasePath: string, owner: string): string {
  return join(dirname(databasePath), `${basename(databasePath)}.runner-${owner}.lock`)
}
