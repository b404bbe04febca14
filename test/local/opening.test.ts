import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Database } from '../../sdk/worlds/local/database.ts'
import { deadOwners, Liveness } from '../../sdk/worlds/local/liveness.ts'
import { amount } from '../outside/amount.ts'
import { canMakeDisks, SmallDisk } from './small-disk.ts'

let folder: string
let path: string
const children: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'overwinter-opening-'))
  path = join(folder, 'runs.db')
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const opener = () => {
  const child = fork(join(import.meta.dirname, 'opener.ts'), { execArgv: ['--conditions=overwinter-source'] })
  children.push(child)
  return child
}
const answerOf = async (child: ChildProcess) => ((await once(child, 'message')) as [string])[0]
const inTransaction = (file: string) => {
  const holder = new DatabaseSync(file)
  holder.exec('BEGIN IMMEDIATE')
  return holder
}

describe('opening a file', () => {
  it('works for four processes that open a new one at the same time, again and again', async () => {
    for (let i = 0; i < 4; i++) opener()
    await Promise.all(children.map(answerOf))
    const answers: string[] = []
    for (let n = 0; n < amount({ few: 10, many: 100 }); n++) {
      const round = Promise.all(children.map(answerOf))
      for (const child of children) child.send(join(folder, `new-${n}.db`))
      answers.push(...(await round))
    }
    expect(answers.filter((answer) => answer !== 'opened')).toEqual([])
    expect(readdirSync(folder).filter((file) => file.endsWith('.lock'))).toEqual([])
  })

  it('waits for a process that is about to bring it to the next format', async () => {
    new DatabaseSync(path).close()
    const child = opener()
    await answerOf(child)
    const migrating = inTransaction(path)
    const answer = answerOf(child)
    child.send(path)
    // Longer than SQLite itself waits.
    await new Promise((resolve) => setTimeout(resolve, 600))
    migrating.exec('COMMIT')
    migrating.close()
    expect(await answer).toBe('opened')
  })

  it.skipIf(!canMakeDisks)(
    'works on a disk that has no room for a log of full length, and leaves the data what room there is',
    () => {
      using disk = new SmallDisk(12)
      const db = new Database(join(disk.folder, 'runs.db'))
      expect(statSync(join(disk.folder, 'runs.db-wal')).size).toBeLessThan(1_000_000)
      db.close()
    },
  )
})

describe('the lock of a live runner', () => {
  it('is not cleared away by its neighbours, and that of a dead one is, once', () => {
    const alive = new Liveness(path, 'alive')
    new DatabaseSync(`${path}.runner-dead.lock`).close()
    expect(deadOwners(path)).toEqual(['dead'])
    expect(deadOwners(path)).toEqual([])
    alive.release()
    expect(existsSync(`${path}.runner-alive.lock`)).toBe(false)
  })
})
