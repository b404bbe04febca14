import { expect, test } from 'vitest'
import { type OnConflict, workflow } from '../../sdk/index.ts'
import { slowCloud } from '../outside/slow-cloud.ts'

const single = (onConflict: OnConflict) =>
  workflow('single', { singleton: { key: (key: string) => key, onConflict } }, async (ctx, key: string) => {
    await ctx.sleep('1h')
    return key
  })

test('of several starts of one key at once, skip makes one run', async () => {
  const it = single('skip')
  const { open } = slowCloud([it], 'at once')
  for (let round = 0; round < 10; round++) {
    const started = await Promise.all(Array.from({ length: 4 }, () => open().start(it, `key ${round}`)))
    expect(started.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(started.map(({ runId }) => runId)).size).toBe(1)
  }
})

test.each(['queue-latest', 'cancel-running'] as const)(
  'of several starts of one key at once, %s leaves one',
  async (onConflict) => {
    const it = single(onConflict)
    const { open, take } = slowCloud([it], 'at once')
    const client = open()
    for (let round = 0; round < 4; round++) {
      const first = await client.start(it, `key ${round}`)
      await take(client, first.runId)
      const started = await Promise.all([1, 2, 3].map(() => open().start(it, `key ${round}`)))
      const all = [first, ...started]
      for (let i = 0; i < 4; i++) for (const { runId } of all) await take(client, runId)
      const states = await Promise.all(all.map(async ({ runId }) => (await client.get(runId)).status))
      expect(states.slice(1).filter((status) => status !== 'cancelled')).toEqual([
        onConflict === 'queue-latest' ? 'queued' : 'sleeping',
      ])
    }
  },
)

test('starts that become runs together, at once: each input is in one of them', async () => {
  const bill = workflow('bill', { batch: { size: 4, wait: '1m' } }, async (_, inputs: number[]) => inputs)
  const { open, take } = slowCloud([bill], 'at once')
  const started = await Promise.all(Array.from({ length: 12 }, (_, n) => open().start(bill, n)))
  const client = open()
  const ids = [...new Set(started.map(({ runId }) => runId))]
  await new Promise<void>((resolve) => client.world.clock.at(client.world.clock.now() + 120_000, resolve))
  for (const id of ids) await take(client, id)
  const outputs = await Promise.all(ids.map(async (id) => (await client.get(id)).output as number[]))
  expect(outputs.flat().sort((a, b) => a - b)).toEqual([...Array(12).keys()])
})
