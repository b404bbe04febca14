import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** In a database are payloads, and the secrets that callbacks are answered by: they are for its owner alone. */
const OWNERS_FOLDER = 0o700
const OWNERS_FILE = 0o600
const READABLE_BY_ALL = 0o004
/** A group may share a file on purpose. All users of a machine do not: that is what a careless umask makes. */
const GROUPS = 0o060

/** Before SQLite opens the file: it gives its log the rights of the file. Folders that are there stay as they are, and Windows has no such rights. */
export function keepPrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: OWNERS_FOLDER })
  try {
    closeSync(openSync(path, 'wx', OWNERS_FILE))
  } catch {
    // It is there, as 0.1.0 made it perhaps; or it cannot be made, and SQLite says why.
    for (const file of [path, `${path}-wal`, `${path}-shm`]) tighten(file)
  }
}

function tighten(file: string): void {
  const { mode } = statSync(file, { throwIfNoEntry: false }) ?? { mode: 0 }
  if (!(mode & READABLE_BY_ALL)) return
  try {
    // A group that may only read it was let in by the umask too.
    chmodSync(file, OWNERS_FILE | ((mode & GROUPS) === GROUPS ? GROUPS : 0))
  } catch {
    // Another user's, who decides who may read it.
  }
}
