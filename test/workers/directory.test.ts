import { describe, expect, it } from 'vitest'
import { WorkerDirectory } from '../../sdk/tasks/directory.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const registration = (worker_id: string) => ({
  worker_id,
  task_types: ['llm'],
  max_tasks: 1,
  language: 'go',
  transport: 'bridge' as const,
})

function open() {
  const calls = { count: 0 }
  const { world, table } = openAwsInMemory({ seed: 'workers', onCall: () => void calls.count++ })
  const partitions = () => Map.groupBy(table.items(), ({ item }) => JSON.stringify(item.pk))
  return { directory: new WorkerDirectory(world), clock: world.clock, calls, partitions }
}

describe('a thousand workers', () => {
  it.each([
    ['numbered', (n: number) => `worker-${n}`],
    ['named after machines', (n: number) => `ip-10-0-${n >> 8}-${n & 255}.eu-west-1.compute.internal/llm`],
    [
      'with ids made up at random',
      (n: number) => `${((n + 1) * 2_654_435_761).toString(36)}-${(n * 40_503).toString(16)}`,
    ],
  ])('that are %s make no partition hot, and are all listed, by name', async (_how, nameOf) => {
    const { directory, partitions } = open()
    const names = Array.from({ length: 1_000 }, (_, n) => nameOf(n))
    await Promise.all(names.map((name) => directory.seen(registration(name), 1)))
    const crowds = [...partitions().values()].map(({ length }) => length)
    expect(crowds).toHaveLength(8)
    expect(Math.max(...crowds)).toBeLessThan(250)
    expect((await directory.list()).map(({ worker_id }) => worker_id)).toEqual([...names].sort())
  })

  it('cost one read and one write for each sign of life that is written down, one read for another, and eight for a look at all of them', async () => {
    const { directory, calls } = open()
    const costOf = async (act: () => Promise<unknown>) => {
      const before = calls.count
      await act()
      return calls.count - before
    }
    expect(await costOf(() => directory.seen(registration('w'), 1))).toBe(2)
    expect(await costOf(() => directory.seen(registration('w'), 1))).toBe(1)
    expect(await costOf(() => directory.list())).toBe(8)
  })
})
