import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** A database contains payloads and the secrets of callbacks, so only its owner may read it. */
const OWNERS_FOLDER = 0o700
const OWNERS_FILE = 0o600
const READABLE_BY_ALL = 0o004
/** A group may share a file on purpose. Access for all users is what a careless umask gives. */
const GROUPS = 0o060

/**
 * Called before SQLite opens the file: the log inherits the file's mode. Existing folders keep
 * theirs. Windows has no such modes.
 */
export function keepPrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: OWNERS_FOLDER })
  try {
    closeSync(openSync(path, 'wx', OWNERS_FILE))
  } catch {
    // It exists, perhaps from 0.1.0; or it cannot be created, and SQLite says why.
    for (const file of [path, `${path}-wal`, `${path}-shm`]) tighten(file)
  }
}

function tighten(file: string): void {
  const { mode } = statSync(file, { throwIfNoEntry: false }) ?? { mode: 0 }
  if (!(mode & READABLE_BY_ALL)) return
  try {
    // A group with read access alone got it from the umask too.
    chmodSync(file, OWNERS_FILE | ((mode & GROUPS) === GROUPS ? GROUPS : 0))
  } catch {
    // The file belongs to another user, who decides who may read it.
  }
}
