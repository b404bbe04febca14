import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Local } from '../../sdk/local.ts'
import { signal, workflow } from '../../sdk/workflow.ts'

const end = signal('end')
const orders = (limit: number) =>
  workflow('order', { concurrency: { limit } }, async (ctx) => {
    await ctx.waitFor(end)
  })

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'overwinter-'))
})
afterEach(() => rmSync(folder, { recursive: true }))
const open = (limit: number) => Local.open({ path: join(folder, 'runs.db'), workflows: [orders(limit)], log: () => {} })

test('a limit that a deployment has raised counts for queued runs, though no new run comes', async () => {
  const ids = ['a', 'b', 'c']
  const before = await open(1)
  for (const id of ids) await before.start('order', undefined, { id })
  await expect.poll(async () => (await before.get('a')).status).toBe('waiting')
  expect((await before.get('c')).status).toBe('queued')
  await before.close()
  await using after = await open(3)
  for (const id of ids) await expect.poll(async () => (await after.get(id)).status, { timeout: 60_000 }).toBe('waiting')
  expect(await after.limits.get('order:concurrency')).toMatchObject({
    code: { concurrency: 3 },
    inForce: { concurrency: 3 },
  })
})

test('numbers that an operator has set stay in force over a deployment', async () => {
  const before = await open(1)
  for (const id of ['a', 'b', 'c']) await before.start('order', undefined, { id })
  await before.limits.set('order:concurrency', { concurrency: 2 })
  await before.close()
  await using after = await open(3)
  expect(await after.limits.get('order:concurrency')).toMatchObject({
    code: { concurrency: 3 },
    inForce: { concurrency: 2 },
    isSet: true,
  })
  expect((await after.get('c')).status).toBe('queued')
})
