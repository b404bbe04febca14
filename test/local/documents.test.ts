import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Local } from '../../sdk/local.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { Database } from '../../sdk/worlds/local/database.ts'

test('what has expired is cleared out of the file when a process starts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-documents-'))
  const path = join(folder, 'runs.db')
  const clock = new VirtualClock(1_000)
  const first = await Local.open({ path, workflows: [], clock, log: () => {} })
  await first.world.documents.put('c', 'short', 1, { expiresAt: 2_000 })
  await first.world.documents.put('c', 'long', 1, { expiresAt: 3_000 })
  await first.close(0)
  clock.moveTo(2_000)
  const second = await Local.open({ path, workflows: [], clock, log: () => {} })
  await second.close(0)
  const db = new Database(path)
  expect(db.rows('SELECT key FROM documents')).toEqual([{ key: 'long' }])
  db.close()
  rmSync(folder, { recursive: true })
})
