import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Database } from '../../sdk/worlds/local/database.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'overwinter-durability-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const FULL = 2
const NORMAL = 1

it('every write waits for the disk unless it may be lost, and a write that waits makes the ones before it durable', async () => {
  const db = new Database(join(folder, 'runs.db'))
  const mode = () => db.row('PRAGMA synchronous')!.synchronous
  expect(await db.write(mode)).toBe(FULL)
  expect(await db.write(mode, 'mayBeLost')).toBe(NORMAL)
  expect(await db.write(mode)).toBe(FULL)
  expect(await Promise.all([db.write(mode, 'mayBeLost'), db.write(mode)])).toEqual([FULL, FULL])
  await db
    .write(() => {
      throw new Error('spoilt')
    }, 'mayBeLost')
    .catch(() => {})
  expect(await db.write(mode)).toBe(FULL)
  expect(db.row('PRAGMA journal_mode')!.journal_mode).toBe('wal')
  db.close()
})
