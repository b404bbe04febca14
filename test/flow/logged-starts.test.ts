import { expect, test } from 'vitest'
import { Client } from '../../sdk/client/client.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Registry, workflow } from '../../sdk/index.ts'
import type { NewRun } from '../../sdk/ports/run.ts'
import type { World } from '../../sdk/ports/world.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

/**
 * Runs and starts as the code stored them that kept starts in a log (`starts-log.ts`), copied from a file of it: a batch
 * that was taken, one that two starts have come for, a debounced run that waits, and one whose runner died right after
 * the run had its input.
 */
const BEGAN = Date.parse('2026-01-01T00:00:00Z')
const [TAKEN, BATCH, DEBOUNCED, DIED] = ['taken', 'batch', 'debounced', 'died']
const at = { since: BEGAN, at: BEGAN }
const DOCUMENTS: [string, string, object, number?][] = [
  ['repeated starts', 'DTfkq68w3zaUG3vNZTaCk4', { run: TAKEN, input: 'a4ayc_80_OGda4BO_1o_V0' }, BEGAN + 86_400_000],
  [
    'starts bill\u0001',
    '000000000001',
    { run: TAKEN, first: 1, from: 1, ...at, closed: true, cleared: true },
    BEGAN + 3_600_000,
  ],
  [
    'starts bill\u0001',
    '000000000004',
    { run: BATCH, first: 4, from: 4, ...at, input: 4, key: 'aVPSOtRcptZwKmM7cTLwoH', digest: 'SyJ3d9TdH8Ycb4hPSGQdAr' },
  ],
  [
    'starts bill\u0001',
    '000000000005',
    { run: BATCH, first: 4, from: 4, ...at, input: 5, key: '-M2kakoctE-BA8iOSuq3Vr', digest: '7y0SfeN7lCuq0GFF5UsMYZ' },
  ],
  ['starts save\u0001a', '000000000001', { run: DEBOUNCED, first: 1, from: 1, ...at, input: { doc: 'a', n: 1 } }],
  ['starts save\u0001a', '000000000002', { run: DEBOUNCED, first: 1, from: 1, ...at, input: { doc: 'a', n: 2 } }],
  ['starts save\u0001b', '000000000001', { run: DIED, first: 1, from: 1, ...at, input: { doc: 'b', n: 10 } }],
  ['starts save\u0001b', '000000000002', { run: DIED, first: 1, from: 1, ...at, input: { doc: 'b', n: 20 } }],
  [
    'starts save\u0001b',
    '000000000003',
    { run: DIED, first: 1, from: 1, since: BEGAN, at: BEGAN + 11_000, closed: true },
  ],
]
const run = (id: string, of: string, input: unknown, wakeAt: number, starts: object): NewRun => ({
  id,
  workflow: of,
  version: 1,
  format: 2,
  input: input as never,
  secret: 's',
  createdAt: BEGAN,
  wakeAt,
  tags: [],
  retentionMs: 30 * 86_400_000,
  admission: { gates: [], order: BEGAN, specs: {}, ...starts } as NonNullable<NewRun['admission']>,
})
const RUNS = [
  run(BATCH!, 'bill', 4, BEGAN + 60_000, { gathering: { key: '', first: 4, all: true } }),
  run(DEBOUNCED!, 'save', { doc: 'a', n: 1 }, BEGAN + 10_000, { gathering: { key: 'a', first: 1 } }),
  run(DIED!, 'save', { doc: 'b', n: 20 }, BEGAN + 10_000, { gathered: { key: 'b', first: 1 } }),
]

const save = workflow(
  'save',
  { debounce: { key: ({ doc }: { doc: string }) => doc, wait: '10s' } },
  async (_, { n }: { doc: string; n: number }) => n,
)
const bill = workflow('bill', { batch: { size: 3, wait: '1m' } }, async (_, list: number[]) => list)
const registry = new Registry([save, bill])

const worlds: Record<string, () => { world: World; clock: VirtualClock }> = {
  local: () => {
    const clock = new VirtualClock(BEGAN)
    return { world: new LocalWorld({ path: ':memory:', clock, log: () => {} }), clock }
  },
  aws: () => openAwsInMemory({ seed: 'logged' }),
}

async function stored(kind: string) {
  const { world, clock } = worlds[kind]!()
  for (const [collection, key, value, expiresAt] of DOCUMENTS)
    await world.documents.put(collection, key, value as never, expiresAt === undefined ? {} : { expiresAt })
  for (const each of RUNS) await world.store.create(each)
  const client = new Client(world, registry)
  const take = (runId: string | undefined) =>
    runOnce(world, registry, runId!, { lease: { owner: 'runner', ms: 30_000 } })
  return { world, clock, client, take }
}

test.each(Object.keys(worlds))(
  'runs whose starts are in a log take them, and leave nothing there (%s)',
  async (kind) => {
    const { world, clock, client, take } = await stored(kind)
    clock.moveTo(BEGAN + 61_000)
    for (const id of [BATCH, DEBOUNCED, DIED]) await take(id)
    expect(await client.get(BATCH!)).toMatchObject({ status: 'completed', output: [4, 5] })
    expect(await client.get(DEBOUNCED!)).toMatchObject({ status: 'completed', output: 2 })
    expect(await client.get(DIED!)).toMatchObject({ status: 'completed', output: 20 })
    for (const key of ['bill\u0001', 'save\u0001a', 'save\u0001b']) {
      const left = await world.documents.list(`starts ${key}`)
      expect(left.filter(({ value, expiresAt }) => 'input' in (value as object) || expiresAt === undefined)).toEqual([])
    }
    clock.moveTo(BEGAN + 2 * 3_600_000)
    for (const key of ['bill\u0001', 'save\u0001a', 'save\u0001b'])
      expect(await world.documents.list(`starts ${key}`)).toEqual([])
  },
)

test.each(Object.keys(worlds))(
  'starts in a log are recognised under their keys before and after they are taken (%s)',
  async (kind) => {
    const { clock, client, take } = await stored(kind)
    const again = (n: number, key: string) => client.start(bill, n, { idempotencyKey: key })
    expect((await again(4, 'k4')).runId).toBe(BATCH)
    await expect(again(7, 'k4')).rejects.toThrow('another input was started under this idempotency key')
    expect((await again(1, 'done 1')).runId).toBe(TAKEN)
    const next = await client.start(bill, 6)
    clock.moveTo(BEGAN + 61_000)
    await take(BATCH)
    await take(next.runId)
    expect((await again(5, 'k5')).runId).toBe(BATCH)
    expect((await client.get(BATCH!)).output).toEqual([4, 5])
    expect((await client.get(next.runId)).output).toEqual([6])
  },
)

test.each(Object.keys(worlds))(
  'a run whose starts are in a log and that is terminated and erased leaves nothing there (%s)',
  async (kind) => {
    const { world, client } = await stored(kind)
    await client.terminate(DEBOUNCED!)
    await client.erase(DEBOUNCED!)
    const left = await world.documents.list('starts save\u0001a')
    expect(JSON.stringify(left)).not.toContain('"n":')
  },
)
