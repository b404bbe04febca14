import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Local, LocalFileError } from '../../sdk/local.ts'
import { TaskBroker } from '../../sdk/tasks/broker.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { Database } from '../../sdk/worlds/local/database.ts'
import { FILE_FORMAT, migrate } from '../../sdk/worlds/local/schema.ts'
import { approve, HOUR, program, START, WRITER } from './fixtures/program.ts'

const FIXTURES = join(import.meta.dirname, 'fixtures')
const TODAY = 'today'
let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'overwinter-format-'))
  path = join(folder, 'runs.db')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const formatOf = (file: string) => {
  using sqlite = new DatabaseSync(file)
  return sqlite.prepare('PRAGMA user_version').get()!.user_version
}
const setFormat = (file: string, format: number) => {
  using sqlite = new DatabaseSync(file)
  sqlite.exec(`PRAGMA user_version = ${format}`)
}
const schemaOf = (file: string) => {
  using sqlite = new DatabaseSync(file)
  return sqlite.prepare(`SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name`).all()
}

describe('the format of a database file', () => {
  it('is ours in a new file, and the same when it is opened again', () => {
    for (let i = 0; i < 2; i++) new Database(path).close()
    expect(formatOf(path)).toBe(FILE_FORMAT)
  })

  it('is refused when it is newer than ours, with the path, both formats and what to do, and nothing is changed', () => {
    new Database(path).close()
    setFormat(path, FILE_FORMAT + 3)
    const before = schemaOf(path)
    const open = () => new Database(path)
    expect(open).toThrow(LocalFileError)
    expect(open).toThrow(
      `${path}: it has format ${FILE_FORMAT + 3} and this version of Overwinter knows formats up to ${FILE_FORMAT}`,
    )
    expect(open).toThrow(/Use the version of Overwinter that wrote it, or a newer one/)
    expect([formatOf(path), schemaOf(path)]).toEqual([FILE_FORMAT + 3, before])
  })

  it('is reached step by step, and of several processes one takes each step', () => {
    const steps = ['CREATE TABLE a (x)', 'INSERT INTO a VALUES (1)', 'INSERT INTO a VALUES (2)']
    using one = new DatabaseSync(path)
    using other = new DatabaseSync(path)
    migrate(one, path, steps.slice(0, 1))
    migrate(other, path, steps.slice(0, 2))
    for (const sqlite of [one, other]) migrate(sqlite, path, steps)
    expect(one.prepare('SELECT x FROM a').all()).toMatchObject([{ x: 1 }, { x: 2 }])
    expect(formatOf(path)).toBe(3)
  })

  it('stays as it was before a step that fails, content and all', () => {
    using sqlite = new DatabaseSync(path)
    migrate(sqlite, path, ['CREATE TABLE a (x)'])
    const steps = ['CREATE TABLE a (x)', 'INSERT INTO a VALUES (1); INSERT INTO missing VALUES (1)']
    expect(() => migrate(sqlite, path, steps)).toThrow('no such table: missing')
    expect(sqlite.prepare('SELECT x FROM a').all()).toEqual([])
    expect(formatOf(path)).toBe(1)
  })
})

/** Every file that a released format left behind is here, and stays. */
describe.each(readdirSync(FIXTURES).filter((file) => file.endsWith('.db')))('runs in %s', (file) => {
  beforeEach(() => copyFileSync(join(FIXTURES, file), path))

  it('get the tables that a new file has', () => {
    new Database(path).close()
    const fresh = join(folder, 'fresh.db')
    new Database(fresh).close()
    expect(schemaOf(path)).toEqual(schemaOf(fresh))
    expect(formatOf(path)).toBe(FILE_FORMAT)
  })

  it('go on to their end, and repeat nothing that was done', async () => {
    const { hourly, ...workflows } = program(TODAY, new Promise<never>(() => {}))
    const clock = new VirtualClock(START + HOUR)
    await using local = await Local.open({
      path,
      clock,
      workflows: Object.values(workflows),
      schedules: [hourly],
      log: () => {},
    })
    const result = (runId: string) => local.result(runId)

    expect(await result('completed')).toBe(`hello Ada, by ${WRITER}`)
    await expect(result('failed')).rejects.toThrow('the card was declined')
    expect((await local.list({ tag: 'kept' })).runs.map(({ runId }) => runId)).toEqual(['asleep', 'completed'])
    expect(await local.get('asleep')).toMatchObject({
      status: 'sleeping',
      progress: { asleepFor: 60 },
      wakeAt: START + 2 * HOUR,
    })
    expect(await local.world.documents.get('notes', 'kept')).toMatchObject({
      value: { text: 'a document' },
      version: 1,
    })

    await local.signal('waits-for-signal', approve, { by: 'Ada' })
    expect(await result('waits-for-signal')).toEqual({ asked: WRITER, by: 'Ada', text: 'kept for later' })

    const broker = new TaskBroker(local.world)
    const [waiting] = await broker.poll({ types: ['llm'], most: 1, timeoutMs: 0 })
    expect(waiting).toMatchObject({ run_id: 'task-waiting', attempt: 1, input: { question: 'the universe' } })
    await broker.resolve(waiting!.task_id, { action: 'complete', output: 'and everything' })
    expect(await result('task-waiting')).toBe('and everything')

    // The worker that had it gave no more sign of life: another one gets it, with what was saved.
    clock.moveTo(START + 1.5 * HOUR)
    expect(await result('interrupted')).toEqual([WRITER, TODAY])
    const [again] = await broker.poll({ types: ['llm'], most: 1, timeoutMs: 0 })
    expect(again).toMatchObject({
      run_id: 'task-taken',
      attempt: 2,
      input: { question: 'life' },
      checkpoint: { words: 3 },
    })
    await broker.resolve(again!.task_id, { action: 'complete', output: 42, attempt: 2 })
    expect(await result('task-taken')).toBe(42)

    clock.moveTo(START + 2 * HOUR)
    expect(await result('asleep')).toEqual([WRITER, WRITER, TODAY])
    expect(await result('starts-later')).toBe(`hello Grace, by ${TODAY}`)
    clock.moveTo(START + 2.5 * HOUR)
    expect(await result('parent')).toEqual({ prepared: WRITER, child: [WRITER, WRITER, TODAY] })

    const second = 'schedule.hourly.2026-01-01T02-00-00.000Z'
    while ((await local.world.store.get(second))?.status !== 'completed')
      await new Promise((resolve) => setImmediate(resolve))
    const { runs } = await local.list({ workflow: 'greet', limit: 100 })
    const ofSchedule = await Promise.all(
      runs.filter(({ runId: id }) => id.startsWith('schedule.hourly.')).map(({ runId: id }) => local.get(id)),
    )
    const scheduled = ofSchedule.map((run) => [new Date(run.createdAt).toISOString(), run.output])
    expect(scheduled).toEqual([
      ['2026-01-01T02:00:00.000Z', `hello world, by ${TODAY}`],
      ['2026-01-01T01:00:00.000Z', `hello world, by ${WRITER}`],
    ])
  })
})
