import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Something is wrong with the database file, or with its disk. Says which file, what happened and
 * what to do.
 */
export class LocalFileError extends Error {
  override name = 'LocalFileError'
  readonly path: string
  /** SQLite's own name for it, such as `SQLITE_FULL`, or that of the operating system. */
  readonly code: string

  constructor(path: string, code: string, what: string, options?: ErrorOptions) {
    super(`the database file ${path}: ${what}`, options)
    this.path = path
    this.code = code
  }
}

const READ_ONLY = 8
const DISK_ERROR = 10
const FULL = 13
/** With less than this a page and the index of the log do not fit. */
const NO_ROOM_BYTES = 65_536

/** By SQLite's primary result codes. Codes that are absent concern our statements, not the file. */
const TROUBLE: Record<number, { code: string; what: string } | undefined> = {
  5: {
    code: 'SQLITE_BUSY',
    what:
      'another process has kept it locked for too long. See whether one that uses it hangs or is suspended ' +
      '(a debugger, a backup), and try again.',
  },
  [READ_ONLY]: {
    code: 'SQLITE_READONLY',
    what:
      'it cannot be written. Give this user the right to write to it, to the files beside it (-wal, -shm) ' +
      'and to its folder.',
  },
  [DISK_ERROR]: {
    code: 'SQLITE_IOERR',
    what:
      'the disk could not be read or written. Look for its errors in the log of the operating system; what ' +
      'was acknowledged is kept.',
  },
  11: {
    code: 'SQLITE_CORRUPT',
    what:
      'it is damaged: its content was overwritten or cut off, not by Overwinter. Stop what uses it, copy it with the files beside it (-wal, -shm), and put a backup in ' +
      'its place, or save what is readable: sqlite3 <file> .recover | sqlite3 <new file>',
  },
  [FULL]: {
    code: 'SQLITE_FULL',
    what: 'its disk is full. What was acknowledged is kept. Make room: runs then go on by themselves.',
  },
  14: {
    code: 'SQLITE_CANTOPEN',
    what:
      'it cannot be opened. See that it is a file, not a folder, and that this user may read and write it ' +
      'and its folder.',
  },
  26: {
    code: 'SQLITE_NOTADB',
    what:
      'it is not a database of Overwinter, or its beginning was overwritten. Give the path of another ' +
      'file, or put a backup in its place.',
  },
}

/**
 * A readable error for what SQLite or the operating system reports about the file; other errors
 * unchanged.
 */
export function explained(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof LocalFileError) return error
  const { errcode, code, syscall } = error as Error & { errcode?: number; code?: string; syscall?: string }
  if (errcode === undefined)
    return syscall === undefined
      ? error
      : new LocalFileError(path, code ?? 'UNKNOWN', adviceFor(error, code, syscall), { cause: error })
  const primary = primaryCode(errcode)
  const trouble = TROUBLE[primary === DISK_ERROR && !hasRoom(path) ? FULL : primary]
  return trouble
    ? new LocalFileError(path, trouble.code, `${trouble.what} (SQLite: ${error.message}, ${errcode})`, { cause: error })
    : error
}

/** Another process has the lock. */
export function isBusy(error: unknown): boolean {
  if (error instanceof LocalFileError) return error.code === 'SQLITE_BUSY'
  const errcode = (error as { errcode?: number } | undefined)?.errcode
  return errcode !== undefined && primaryCode(errcode) === 5
}

const primaryCode = (errcode: number) => errcode & 0xff

function adviceFor(error: Error, code: string | undefined, syscall: string): string {
  if (syscall === 'access') return `${TROUBLE[READ_ONLY]!.what} (${code})`
  return `${error.message}. See that its folder can be made, read and written by this user, and that the disk has room.`
}

/** The index of the log is a file too; if it cannot grow, SQLite reports a disk error. */
function hasRoom(path: string): boolean {
  try {
    return freeBytes(path) > NO_ROOM_BYTES
  } catch {
    return true
  }
}

/** On the disk that holds the file. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path))
  return bavail * bsize
}
