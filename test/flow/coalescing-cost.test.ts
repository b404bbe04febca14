import { afterEach, expect, test, vi } from 'vitest'
import { Client } from '../../sdk/client/client.ts'
import { Registry, workflow } from '../../sdk/index.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { Database } from '../../sdk/worlds/local/database.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'
import { slowCloud } from '../outside/slow-cloud.ts'

afterEach(() => void vi.restoreAllMocks())

const flows = {
  batched: { batch: { size: 50, wait: '1h' } },
  'batched by three': { batch: { size: 3, wait: '1h' } },
  debounced: { debounce: { key: () => 'k', wait: '1h' } },
} as const
const keyed = (n: number) => ({ idempotencyKey: `k${n}` })
const cases = Object.entries(flows).flatMap(([name, options]) => [
  [name, 'without a key', options, () => ({})] as const,
  [name, 'under a key', options, keyed] as const,
])

/** What each of the last hundred starts costs, after so many; no runner takes them, so none is cleared away. */
const AFTER = [100, 1_000, 2_000]

test.each(cases)(
  'a start that is %s, %s, reads as many rows of SQLite after 2,000 others as after 100',
  async (_name, _key, options, how) => {
    const w = workflow('w', options as object, async () => {})
    const world = new LocalWorld({ path: ':memory:', clock: new VirtualClock(0), log: () => {} })
    const client = new Client(world, new Registry([w]))
    const cost = { statements: 0, rows: 0 }
    const { row, rows, values, allValues, run } = Database.prototype
    const count = (name: 'row' | 'rows' | 'values' | 'allValues' | 'run', original: (...args: never[]) => unknown) =>
      vi.spyOn(Database.prototype, name).mockImplementation(function (this: Database, ...args: unknown[]) {
        const found = original.apply(this, args as never[])
        cost.statements++
        cost.rows += Array.isArray(found) && name !== 'values' ? found.length : 1
        return found as never
      })
    count('row', row)
    count('rows', rows)
    count('values', values)
    count('allValues', allValues)
    count('run', run)
    const costs: { statements: number; rows: number }[] = []
    for (let n = 0; n < 2_000; n += 100) {
      Object.assign(cost, { statements: 0, rows: 0 })
      await Promise.all(Array.from({ length: 100 }, (_, i) => client.start(w as never, (n + i) as never, how(n + i))))
      if (AFTER.includes(n + 100)) costs.push({ statements: cost.statements / 100, rows: cost.rows / 100 })
    }
    await world.close()
    const [first, ...later] = costs
    expect(first!.rows).toBeLessThan(15)
    for (const each of later) {
      expect(Math.abs(each.rows - first!.rows)).toBeLessThan(0.5)
      expect(Math.abs(each.statements - first!.statements)).toBeLessThan(0.5)
    }
  },
)

test.each(cases)(
  'a start that is %s, %s, makes as many calls on AWS beside 99 others as beside 9',
  async (_name, _key, options, how) => {
    const w = workflow('w', options as object, async () => {})
    const { open, calls, writes, stop } = slowCloud([w])
    const clients = Array.from({ length: 20 }, () => open())
    const cost = async (from: number, many: number) => {
      const before = { calls: calls.count, writes: writes.count }
      await Promise.all(
        Array.from({ length: many }, (_, i) => clients[i % 20]!.start(w as never, i as never, how(from + i))),
      )
      return { calls: (calls.count - before.calls) / many, writes: (writes.count - before.writes) / many }
    }
    await cost(0, 10)
    const few = await cost(1_000, 10)
    const many = await cost(2_000, 100)
    const more = await cost(3_000, 100)
    stop()
    expect(few.calls).toBeLessThan(12)
    for (const each of [many, more]) {
      expect(each.calls).toBeLessThan(few.calls + 2)
      expect(each.writes).toBeLessThan(few.writes + 2)
    }
  },
  60_000,
)
