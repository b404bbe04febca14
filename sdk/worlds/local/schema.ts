import type { DatabaseSync } from 'node:sqlite'
import { LocalFileError } from './local-file-error.ts'

/**
 * `runs` is what scheduling touches again and again, so it is narrow; payloads, which are written once and read
 * rarely, live beside it. A frame's events are stored without their outer brackets, so that a whole journal can be
 * put together by SQLite and parsed in one go.
 *
 * Files of 0.1.0 have these tables and no format; `IF NOT EXISTS` is what makes them files of format 1.
 */
const FORMAT_1 = `
CREATE TABLE IF NOT EXISTS runs (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  workflow TEXT NOT NULL,
  version INTEGER NOT NULL,
  status TEXT NOT NULL,
  generation INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 1,
  base_seq INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0,
  stimulus INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  lease_until INTEGER,
  wake_at INTEGER,
  waiting TEXT,
  secret TEXT NOT NULL,
  parent_id TEXT,
  parent_op TEXT,
  tags TEXT,
  progress TEXT,
  heartbeat TEXT,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  retention_ms INTEGER,
  expires_at INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS runs_due ON runs (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_by_workflow ON runs (workflow, key);
CREATE INDEX IF NOT EXISTS runs_in_trouble ON runs (status, key) WHERE status IN ('stuck', 'failed');
CREATE INDEX IF NOT EXISTS runs_expiring ON runs (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS payloads (run INTEGER PRIMARY KEY, input TEXT, output TEXT, error TEXT) STRICT;
CREATE TABLE IF NOT EXISTS frames (
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  events TEXT NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS inbox (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL,
  id TEXT NOT NULL,
  body TEXT,
  UNIQUE (run, id)
) STRICT;
CREATE TABLE IF NOT EXISTS deaths (run INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, count INTEGER NOT NULL) STRICT;
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

/**
 * The rules of a run's life moved out of the tables: claims are counted in the run, the time of its
 * next check is computed from its lease and wake-up, and messages carry the time they were sent. A
 * run that was running counts as one whose runner did not release it.
 */
const FORMAT_2 = `
ALTER TABLE runs ADD COLUMN format INTEGER NOT NULL DEFAULT 1;
ALTER TABLE runs ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN parent_generation INTEGER;
ALTER TABLE runs ADD COLUMN reparse INTEGER;
ALTER TABLE payloads ADD COLUMN parsed TEXT;
ALTER TABLE frames ADD COLUMN format INTEGER NOT NULL DEFAULT 1;
ALTER TABLE inbox ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
UPDATE inbox SET at = unixepoch() * 1000;
UPDATE runs SET claims = 1 WHERE status = 'running';
DROP TABLE deaths;
DROP INDEX runs_due;
CREATE INDEX runs_to_look_at ON runs (coalesce(lease_until, wake_at)) WHERE wake_at IS NOT NULL;
`

/** Requests are replied to where they were asked. */
const FORMAT_3 = 'ALTER TABLE inbox ADD COLUMN reply TEXT;'

/**
 * States that an index finds: few runs are in them, and none passes through them on its way to
 * completion.
 */
export const FOUND_BY_STATUS = "status IN ('stuck', 'failed', 'cancelled', 'terminated')"

/** The origin of a run, for traces; and more states that an index finds. */
const FORMAT_4 = `
ALTER TABLE payloads ADD COLUMN trace TEXT;
DROP INDEX runs_in_trouble;
CREATE INDEX runs_by_status ON runs (status, key) WHERE ${FOUND_BY_STATUS};
`

/**
 * Admission of runs, and claims that count as no crash. Runs are found by creation time, and open
 * ones by state. The index by due time is written at each visit anyway, so adding the state costs
 * nothing there; runs without a due time wait for something from outside, and have an index of
 * their own.
 */
const FORMAT_5 = `
ALTER TABLE runs ADD COLUMN admission TEXT;
ALTER TABLE runs ADD COLUMN passed INTEGER;
ALTER TABLE runs ADD COLUMN spared INTEGER;
CREATE INDEX runs_by_time ON runs (created_at);
DROP INDEX runs_to_look_at;
CREATE INDEX runs_to_look_at ON runs (coalesce(lease_until, wake_at), status) WHERE wake_at IS NOT NULL;
CREATE INDEX runs_without_time ON runs (status, key) WHERE wake_at IS NULL AND ended_at IS NULL;
`

/** Documents that are due at a time. */
const FORMAT_6 = `
ALTER TABLE documents ADD COLUMN due_at INTEGER;
CREATE INDEX documents_due ON documents (due_at) WHERE due_at IS NOT NULL;
`

/**
 * The steps from each format to the next: the first creates format 1 from nothing, the second makes
 * format 2 from format 1. A released step never changes; a new format is a new step at the end, and
 * a file in test/local/fixtures, written before it.
 */
const STEPS: readonly string[] = [FORMAT_1, FORMAT_2, FORMAT_3, FORMAT_4, FORMAT_5, FORMAT_6]

/** The format of the file that this code reads and writes. */
export const FILE_FORMAT = STEPS.length

/**
 * Migrates the file to our format. Each step is a transaction: a process that dies in between
 * leaves a file of some format, and of several concurrent processes one takes the step and the
 * others skip it.
 */
export function migrate(sqlite: DatabaseSync, path: string, steps: readonly string[] = STEPS): void {
  while (formatOf(sqlite) < steps.length) takeNextStep(sqlite, steps)
  const format = formatOf(sqlite)
  if (format > steps.length) throw newerFormat(path, format, steps.length)
}

function takeNextStep(sqlite: DatabaseSync, steps: readonly string[]): void {
  sqlite.exec('BEGIN IMMEDIATE')
  try {
    // Read again: only under our lock can no other process change it.
    const format = formatOf(sqlite)
    const step = steps[format]
    if (step !== undefined) sqlite.exec(`${step}; PRAGMA user_version = ${format + 1}`)
    sqlite.exec('COMMIT')
  } catch (error) {
    if (sqlite.isTransaction) sqlite.exec('ROLLBACK')
    throw error
  }
}

function formatOf(sqlite: DatabaseSync): number {
  return sqlite.prepare('PRAGMA user_version').get()!.user_version as number
}

function newerFormat(path: string, theirs: number, ours: number): LocalFileError {
  const advice = 'Use the version of Overwinter that wrote it, or a newer one, or open another file.'
  return new LocalFileError(
    path,
    'NEWER_FORMAT',
    `it has format ${theirs} and this version of Overwinter knows formats up to ${ours}. Nothing was changed. ` +
      `${advice}`,
  )
}
