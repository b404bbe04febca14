import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/**
 * Says which runners of a database file are alive, without clocks or process ids: each holds a lock that the
 * operating system drops when its process dies, however it dies. SQLite brings such locks along.
 */
export class Liveness {
  private readonly path: string
  private readonly lock: DatabaseSync

  constructor(databasePath: string, owner: string) {
    this.path = lockPath(databasePath, owner)
    this.lock = new DatabaseSync(this.path, { timeout: 0 })
    this.lock.exec('BEGIN EXCLUSIVE')
  }

  release(): void {
    this.lock.close()
    rmSync(this.path, { force: true })
  }
}

/** Runners that left a lock file behind and no longer hold it. Their files are removed. */
export function deadOwners(databasePath: string): string[] {
  const prefix = `${basename(databasePath)}.runner-`
  const dead: string[] = []
  for (const file of readdirSync(dirname(databasePath))) {
    if (!file.startsWith(prefix) || !file.endsWith('.lock')) continue
    const path = join(dirname(databasePath), file)
    if (isHeld(path)) continue
    dead.push(file.slice(prefix.length, -'.lock'.length))
    rmSync(path, { force: true })
  }
  return dead
}

function isHeld(path: string): boolean {
  const probe = new DatabaseSync(path, { timeout: 0 })
  try {
    probe.exec('BEGIN EXCLUSIVE')
    return false
  } catch {
    return true
  } finally {
    probe.close()
  }
}

function lockPath(databasePath: string, owner: string): string {
  return join(dirname(databasePath), `${basename(databasePath)}.runner-${owner}.lock`)
}
