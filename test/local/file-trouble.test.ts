import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LocalFileError } from '../../sdk/local.ts'
import { Database } from '../../sdk/worlds/local/database.ts'
import { canMakeDisks, SmallDisk } from './small-disk.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'overwinter-trouble-'))
  path = join(folder, 'runs.db')
})
afterEach(() => {
  chmodSync(folder, 0o755)
  rmSync(folder, { recursive: true, force: true })
})

function thrownBy(action: () => unknown): LocalFileError {
  try {
    action()
  } catch (error) {
    if (error instanceof LocalFileError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** As somebody who is not allowed everything. */
function asNobody<T>(action: () => T): T {
  if (process.getuid!() !== 0) return action()
  process.seteuid!(65_534)
  try {
    return action()
  } finally {
    process.seteuid!(0)
  }
}

const fill = (db: Database, rows: number) =>
  db.write(() => {
    for (let n = 0; n < rows; n++)
      db.run(
        'INSERT INTO documents (collection, key, value, version) VALUES (?, ?, ?, 1)',
        'c',
        `key ${n}`,
        'x'.repeat(1_000),
      )
  })

describe('a file that cannot be used says so, with its path and what to do', () => {
  it('when it is something else', () => {
    writeFileSync(path, 'Dear diary, '.repeat(1_000))
    expect(thrownBy(() => new Database(path))).toMatchObject({
      path,
      code: 'SQLITE_NOTADB',
      message: expect.stringMatching(/runs\.db: it is not a database.*Give the path/),
    })
  })

  it('when it is a folder, or its folder is a file', () => {
    mkdirSync(path)
    expect(thrownBy(() => new Database(path))).toMatchObject({
      path,
      code: 'SQLITE_CANTOPEN',
      message: expect.stringContaining('not a folder'),
    })
    writeFileSync(join(folder, 'file'), '')
    expect(thrownBy(() => new Database(join(folder, 'file/runs.db')))).toMatchObject({
      code: 'EEXIST',
      message: expect.stringContaining('See that its folder'),
    })
  })

  it('when it may only be read', () => {
    new Database(path).close()
    chmodSync(path, 0o444)
    chmodSync(folder, 0o555)
    expect(thrownBy(() => asNobody(() => new Database(path)))).toMatchObject({
      path,
      message: expect.stringMatching(/it cannot be written.*Give this user the right/),
    })
  })

  it('when it is damaged in the middle; what is not damaged stays readable', async () => {
    const db = new Database(path)
    await fill(db, 2_000)
    db.close()
    const file = openSync(path, 'r+')
    writeSync(file, Buffer.alloc(8 * 4_096, 0x5a), 0, 8 * 4_096, Math.floor(statSync(path).size / 4_096 / 2) * 4_096)
    closeSync(file)
    const damaged = new Database(path)
    const error = thrownBy(() => damaged.rows('SELECT sum(length(value)) FROM documents'))
    expect(error).toMatchObject({
      path,
      code: 'SQLITE_CORRUPT',
      message: expect.stringMatching(/it is damaged.*backup.*\.recover/),
    })
    await damaged.write(() => damaged.run('INSERT INTO tags (tag, run) VALUES (?, ?)', 'still works', 1))
    expect(damaged.rows('SELECT tag FROM tags')).toMatchObject([{ tag: 'still works' }])
    damaged.close()
  })

  it.skipIf(!canMakeDisks)(
    'when its disk is full; what was acknowledged is there, and with room again it goes on',
    async () => {
      using disk = new SmallDisk(2)
      const db = new Database(join(disk.folder, 'runs.db'))
      let acknowledged = 0
      const error: unknown = await (async () => {
        for (; ; acknowledged++)
          await db.write(() => db.run('INSERT INTO tags (tag, run) VALUES (?, ?)', 'x'.repeat(20_000), acknowledged))
      })().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(LocalFileError)
      expect(error).toMatchObject({
        code: 'SQLITE_FULL',
        message: expect.stringMatching(/its disk is full.*Make room/),
      })
      expect(db.rows('SELECT run FROM tags')).toHaveLength(acknowledged)
      disk.resize(32)
      await db.write(() => db.run('INSERT INTO tags (tag, run) VALUES (?, ?)', 'room', 0))
      expect(db.rows('SELECT run FROM tags')).toHaveLength(acknowledged + 1)
      db.close()
    },
  )
})

describe('a file that another process keeps locked', () => {
  it('is waited for, while the process can do other things; what was asked for is then done in order', async () => {
    const db = new Database(path)
    const holder = new DatabaseSync(path)
    holder.exec('BEGIN IMMEDIATE')
    const done: number[] = []
    const writes = [1, 2, 3].map((n) =>
      db.write(() => void db.run('INSERT INTO tags (tag, run) VALUES (?, ?)', 't', n)).then(() => done.push(n)),
    )
    let turns = 0
    while (turns < 3) await new Promise((resolve) => setTimeout(resolve, 1)).then(() => turns++)
    expect(done).toEqual([])
    expect(db.rows('SELECT run FROM tags')).toEqual([])
    holder.exec('COMMIT')
    holder.close()
    await Promise.all(writes)
    expect(done).toEqual([1, 2, 3])
    db.close()
  })

  it('is closed without waiting for it, and what could not be written is refused', async () => {
    const db = new Database(path)
    using holder = new DatabaseSync(path)
    holder.exec('BEGIN IMMEDIATE')
    const write = db.write(() => db.run('INSERT INTO tags (tag, run) VALUES (?, ?)', 't', 1))
    const refused = expect(write).rejects.toThrow('the local world was closed')
    db.close()
    await refused
    holder.exec('COMMIT')
    expect(holder.prepare('SELECT * FROM tags').all()).toEqual([])
  })

  it('for longer than the patience, is an error that says what to do', async () => {
    const db = new Database(path, { patienceMs: 300 })
    using holder = new DatabaseSync(path)
    holder.exec('BEGIN IMMEDIATE')
    const error: unknown = await db.write(() => 1).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      name: 'LocalFileError',
      path,
      code: 'SQLITE_BUSY',
      message: expect.stringMatching(/kept it locked for too long.*See whether/),
    })
    expect(await settled(db, holder)).toBe(2)
    db.close()
  })
})

/** Once the lock is free, everything works again. */
function settled(db: Database, holder: DatabaseSync): Promise<number> {
  holder.exec('COMMIT')
  return db.write(() => 2)
}
