import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'

const quick = workflow('quick', async () => 1)
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'overwinter-private-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const open = (path: string) => Local.open({ path, workflows: [quick], log: () => {} })

// Windows has other rights.
describe.skipIf(process.platform === 'win32')('the file of a local world', () => {
  it('is for its owner alone, with its log and the folders that are made for it', async () => {
    await using local = await open(join(folder, 'a/b/runs.db'))
    await local.result((await local.start(quick, undefined)).runId)
    expect([modeOf(folder), modeOf(join(folder, 'a')), modeOf(join(folder, 'a/b'))]).toEqual(['700', '700', '700'])
    const files = readdirSync(join(folder, 'a/b')).filter((name) => /^runs\.db(-wal|-shm)?$/.test(name))
    expect(files.sort()).toEqual(['runs.db', 'runs.db-shm', 'runs.db-wal'])
    for (const file of files) expect([file, modeOf(join(folder, 'a/b', file))]).toEqual([file, '600'])
  })

  it.each([
    ['644', '600'],
    ['640', '640'],
    ['664', '660'],
    ['666', '660'],
    ['660', '660'],
  ])(
    'that is there with the rights %s has %s: what all may read is closed, what a group shares stays',
    async (before, after) => {
      const path = join(folder, 'runs.db')
      await (await open(path)).close()
      chmodSync(path, Number.parseInt(before, 8))
      await using _local = await open(path)
      expect(modeOf(path)).toBe(after)
      expect(modeOf(`${path}-wal`)).toBe(after)
    },
  )

  it('leaves a folder that is there as it is', async () => {
    chmodSync(folder, 0o755)
    await using _local = await open(join(folder, 'runs.db'))
    expect(modeOf(folder)).toBe('755')
  })
})
