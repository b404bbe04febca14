import { afterEach, beforeEach, expect, it } from 'vitest'
import type { NewRun } from '../../sdk/ports/run.ts'
import type { RunFilter } from '../../sdk/ports/run-lists.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const LEASE = { owner: 'me', ms: 30_000 }
/** More than are looked up one by one. */
const MANY = 2_100

let clock: VirtualClock
let world: LocalWorld
beforeEach(() => {
  clock = new VirtualClock(START)
  world = new LocalWorld({ path: ':memory:', clock, log: () => {} })
})
afterEach(() => world.close())

const create = async (id: string, given: Partial<NewRun> = {}) => {
  const now = clock.now()
  await world.store.create({
    id,
    workflow: 'w',
    version: 1,
    format: 2,
    input: null,
    secret: 's',
    createdAt: now,
    wakeAt: now,
    tags: [],
    ...given,
  })
}
const pages = async (filter: Omit<RunFilter, 'limit' | 'cursor'>, limit: number) => {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await world.store.list({ ...filter, limit, ...(cursor !== undefined && { cursor }) })
    ids.push(...page.runs.map(({ runId }) => runId))
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids
}

it('pages through a time without gaps or repeats, also where the clock was set back', async () => {
  await create('first')
  clock.moveTo(START + 10_000)
  await create('early clock')
  // A virtual clock does not go back; the moment of creation is the caller's.
  for (let i = 0; i < 3; i++) await create(`after ${i}`, { createdAt: START + 5_000 + i * 1_000 })
  expect(await pages({ from: START + 1_000 }, 2)).toEqual(['early clock', 'after 2', 'after 1', 'after 0'])
  expect(await pages({ from: START + 5_500, to: START + 10_000 }, 1)).toEqual(['after 2', 'after 1'])
})

it('goes on behind a run that was erased meanwhile', async () => {
  for (let i = 0; i < 4; i++) await create(`run ${i}`, { createdAt: START + i })
  for (const filter of [{}, { from: START }]) {
    const { runs, cursor } = await world.store.list({ ...filter, limit: 1 })
    await world.store.terminate(runs[0]!.runId, 'test')
    await world.store.erase(runs[0]!.runId)
    const next = await world.store.list({ ...filter, limit: 1, cursor: cursor! })
    expect(Number(next.runs[0]!.runId.slice('run '.length))).toBe(Number(runs[0]!.runId.slice('run '.length)) - 1)
  }
})

it('finds runs under way, newest first, be they few or many', async () => {
  await create('oldest')
  await world.store.claim('oldest', LEASE)
  await create('idle')
  expect(await pages({ status: 'running' }, 10)).toEqual(['oldest'])
  for (let i = 0; i < MANY; i++) {
    await create(`run-${i}`)
    await world.store.claim(`run-${i}`, LEASE)
  }
  const all = await pages({ status: 'running' }, 500)
  expect(all).toHaveLength(MANY + 1)
  expect([all[0], all.at(-1)]).toEqual([`run-${MANY - 1}`, 'oldest'])
  expect(await pages({ status: 'running', to: START }, 500)).toEqual([])
  expect(await pages({ status: 'running', idPrefix: 'run-17' }, 500)).toHaveLength(111)
})
