import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { overwinter, Project, startDev } from '../cli/fixture.ts'
import { canMakeDisks, SmallDisk } from '../local/small-disk.ts'

const FLOWS = `import { workflow } from 'overwinter'\nexport const order = workflow('order', async () => 1)\n`
const URL_SAID = /on (http:\/\/localhost:\d+)/

test('two processes: a second dev on the same folder says that they share its runs', async () => {
  using project = new Project({ 'flows.ts': FLOWS })
  const surroundings = { cwd: project.folder, env: { PORT: '0' } }
  await using first = startDev(['flows.ts'], surroundings)
  await first.says(URL_SAID)
  expect(first.stdout).not.toContain('another process')
  await using second = startDev(['flows.ts'], surroundings)
  await second.says(URL_SAID)
  const [warning] = await second.says(/^warn .*$/m)
  expect(warning).toBe(
    `warn  another process runs workflows in ${project.path('.overwinter/runs.db')} too (a second \`overwinter dev\`?). ` +
      'They share its runs: the one that is free takes a run, with its own code. ' +
      'Stop one of them, or give this one a folder of its own: overwinter dev --data <folder>',
  )
})

test('a port that is taken', async () => {
  using project = new Project({ 'flows.ts': FLOWS })
  await using first = startDev(['flows.ts'], { cwd: project.folder, env: { PORT: '0' } })
  const [, url] = await first.says(URL_SAID)
  const port = Number(new URL(url!).port)
  expect(await overwinter(['dev', 'flows.ts'], { cwd: project.folder, env: { PORT: String(port) } })).toEqual({
    code: 1,
    stdout: '',
    stderr: `overwinter dev: port ${port} is taken. Stop what runs there, or choose another one: PORT=${port + 1}\n`,
  })
})

describe('a folder that cannot be written', () => {
  const advice = 'See that its folder can be made, read and written by this user, and that the disk has room.'

  // A file in the way stops everybody; the rights of a folder do not stop root.
  it('ends dev with one sentence', async () => {
    using project = new Project({ 'flows.ts': FLOWS, data: '' })
    const path = project.path('data/inside/runs.db')
    const { code, stderr } = await overwinter(['dev', 'flows.ts', '--data', 'data/inside'], {
      cwd: project.folder,
      env: { PORT: '0' },
    })
    expect(code).toBe(1)
    expect(stderr).toBe(
      `overwinter dev: the database file ${path}: ENOTDIR: not a directory, mkdir '${project.path('data/inside')}'. ${advice}\n`,
    )
  })

  it('is told to code that opens a world', async () => {
    using project = new Project({ data: '' })
    const path = project.path('data/inside/runs.db')
    await expect(Local.open({ path, workflows: [] })).rejects.toMatchObject({
      message: `the database file ${path}: ENOTDIR: not a directory, mkdir '${project.path('data/inside')}'. ${advice}`,
    })
  })

  it.skipIf(!canMakeDisks)('because its disk is mounted for reading', async () => {
    using disk = new SmallDisk(32)
    const path = join(disk.folder, 'runs.db')
    new DatabaseSync(path).close()
    writeFileSync(path, '')
    disk.makeReadOnly()
    await expect(Local.open({ path, workflows: [] })).rejects.toMatchObject({
      message: `the database file ${path}: it cannot be written. Give this user the right to write to it, to the files beside it (-wal, -shm) and to its folder. (EROFS)`,
    })
  })
})

describe('a disk that is full', () => {
  let folder: string
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'overwinter-full-'))))
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const order = workflow('order', async (ctx) => ctx.step('load', () => 'x'.repeat(10_000)))
  const said = (path: string, why: string) =>
    `the database file ${path}: its disk is full. What was acknowledged is kept. Make room: runs then go on by themselves. (SQLite: ${why})`

  it('is reported to callers that start a run, and runs continue once there is room', async () => {
    mkdirSync(join(folder, 'data'))
    const path = join(folder, 'data/runs.db')
    const local = await Local.open({ path, workflows: [order], log: () => {} })
    await local.start(order, undefined, { id: 'early' })
    const full = limited(local)
    await expect(local.start(order, 'x'.repeat(200_000) as never, { id: 'late' })).rejects.toMatchObject({
      message: said(path, 'database or disk is full, 13'),
    })
    full.makeRoom()
    await local.start(order, 'x'.repeat(200_000) as never, { id: 'late' })
    expect(await local.result('early')).toHaveLength(10_000)
    expect(await local.result('late')).toHaveLength(10_000)
    await local.close(0)
  })
})

/** SQLite itself says that there is no more room, on any disk. */
function limited(local: Local): { makeRoom: () => void } {
  const { sqlite } = (local.world as unknown as { db: { sqlite: DatabaseSync } }).db
  const { page_count } = sqlite.prepare('PRAGMA page_count').get() as { page_count: number }
  sqlite.exec(`PRAGMA max_page_count = ${page_count}`)
  return { makeRoom: () => sqlite.exec('PRAGMA max_page_count = 1073741823') }
}
