import { expect, it } from 'vitest'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, Registry, workflow } from '../../sdk/index.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const STEPS = 10
const order = workflow('order', { retention: 0 }, async (ctx) => {
  for (let i = 0; i < STEPS; i++) await ctx.step(`step-${i}`, async () => i)
})

/** Runs that have ended, and may be removed from a minute on. */
async function ended(count: number) {
  let commands: string[] = []
  const stale: unknown[] = []
  const onCall = ({ command, input }: { command: string; input: unknown }) => {
    commands.push(command)
    const { RequestItems = {} } = input as { RequestItems?: Record<string, { ConsistentRead?: boolean }> }
    if (command === 'BatchGetItemCommand' && RequestItems.runs?.ConsistentRead !== true) stale.push(input)
  }
  const opened = openAwsInMemory({ seed: 'removal', onCall })
  const { world, clock } = opened
  const registry = new Registry([order])
  const client = new Client(world, registry)
  for (let i = 0; i < count; i++) {
    await client.start(order, undefined, { id: `r${i}` })
    await runOnce(world, registry, `r${i}`, { lease: { owner: 'o', ms: 30_000 } })
  }
  const endedAt = clock.now()
  clock.moveTo(endedAt + 120_000)
  const made = async (work: () => Promise<unknown>) => {
    commands = []
    await work()
    return commands
  }
  return { ...opened, endedAt, made, stale }
}

it('a sweep looks at a hundred runs that have to go in two reads, and deletes each frame once', async () => {
  const { world, table, made } = await ended(100)
  const commands = await made(() => world.sweep(1_000))
  expect([...table.items()].filter(({ item }) => item.pk!.S!.startsWith('RUN#'))).toEqual([])
  expect(commands.filter((command) => command === 'BatchGetItemCommand')).toHaveLength(2)
  expect(commands.length / 100).toBeLessThanOrEqual(STEPS + 3.3)
})

it('removes by what is true now, not by what a replica still shows: the run may have been let go on', async () => {
  const { world, stale } = await ended(3)
  await world.sweep(1_000)
  expect(stale).toEqual([])
})

it('says since when the oldest run should have been removed, for one entry of each shard', async () => {
  const { world, clock, endedAt, made } = await ended(3)
  let oldest: unknown
  const commands = await made(async () => {
    oldest = await world.gauges()
  })
  expect(oldest).toEqual({ stuck: 0, oldestRemovalAt: endedAt + 60_000 })
  expect(new Set(commands)).toEqual(new Set(['QueryCommand']))
  expect(commands).toHaveLength(20)
  await world.sweep(1_000)
  expect(await world.gauges()).toEqual({ stuck: 0, oldestRemovalAt: undefined })
  expect(clock.now()).toBe(endedAt + 120_000)
})
