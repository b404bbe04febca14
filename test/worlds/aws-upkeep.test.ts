import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Duration } from '../../sdk/base/duration.ts'
import { FORMAT } from '../../sdk/base/names.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, Registry, workflow } from '../../sdk/index.ts'
import type { NewRun } from '../../sdk/ports/run.ts'
import type { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import type { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const MINUTE = 60_000
const DAY = 86_400_000

function open() {
  const { tasks, ...opened } = openAwsInMemory({ seed: 'upkeep', taskTypes: ['chore'] })
  return { ...opened, chores: tasks.get('chore')! }
}

const hands = workflow('hands', async (ctx, { large }: { large: string }) => {
  await ctx.step('echo', () => large)
  return ctx.task('chore', { large })
})

const newRun = (clock: VirtualClock, changes: Partial<NewRun> = {}): NewRun => ({
  id: 'r',
  workflow: 'w',
  version: 1,
  format: FORMAT,
  input: undefined,
  secret: 's',
  createdAt: clock.now(),
  wakeAt: clock.now(),
  tags: [],
  retentionMs: 30 * DAY,
  ...changes,
})

describe('the sweeper', () => {
  const sweepEveryMinute = async (world: AwsWorld, clock: VirtualClock, minutes: number): Promise<number[]> => {
    const told: number[] = []
    for (let minute = 1; minute <= minutes; minute++) {
      clock.moveTo(clock.now() + MINUTE)
      if ((await world.sweep(100)).length > 0) told.push(minute)
    }
    return told
  }

  it('sends a run that no runner claims again with growing pauses, of a quarter of an hour in the end', async () => {
    const { world, clock } = open()
    await world.store.create(newRun(clock))
    expect(await sweepEveryMinute(world, clock, 80)).toEqual([2, 3, 5, 9, 17, 32, 47, 62, 77])
  })

  it('reads nothing of those it has told of, until it is time again', async () => {
    const { world, clock, table } = open()
    for (let i = 0; i < 500; i++) await world.store.create(newRun(clock, { id: `r${i}` }))
    clock.moveTo(clock.now() + 10 * MINUTE)
    expect(await world.sweep(10_000)).toHaveLength(500)
    const before = table.readUnits
    clock.moveTo(clock.now() + 1_000)
    expect(await world.sweep(10_000)).toEqual([])
    // Sixteen shards of runs, four of removals, two of limiters: half a unit each.
    expect(table.readUnits - before).toBeLessThanOrEqual(11)
  })

  it('begins anew with a run that went on meanwhile', async () => {
    const { world, clock } = open()
    const naps = workflow('naps', async (ctx) => {
      await ctx.sleep('first', '1h')
      await ctx.sleep('second', '1h')
    })
    const registry = new Registry([naps])
    await new Client(world, registry).start(naps, undefined, { id: 'r' })
    const take = () => runOnce(world, registry, 'r', { lease: { owner: 'o', ms: 30_000 } })
    await take()
    clock.moveTo(clock.now() + 60 * MINUTE)
    expect(await sweepEveryMinute(world, clock, 20)).toEqual([2, 3, 5, 9, 17])
    expect(await take()).toEqual({ status: 'suspended' })
    clock.moveTo(clock.now() + 60 * MINUTE)
    expect(await sweepEveryMinute(world, clock, 4)).toEqual([2, 3])
  })

  it('leaves a run alone that has moved on between the look and the word', async () => {
    const { world, clock, table } = open()
    await world.store.create(newRun(clock))
    clock.moveTo(clock.now() + 2 * MINUTE)
    const { send } = world.wakeups
    world.wakeups.send = async (wakes) => {
      await world.store.terminate('r', 'meanwhile')
      return send.call(world.wakeups, wakes)
    }
    expect(await world.sweep(100)).toHaveLength(1)
    const [item] = [...table.items()].map((each) => each.item).filter(({ sk }) => sk!.S === 'RUN')
    expect(item).not.toHaveProperty('dueKey')
  })
})

describe('a list', () => {
  it('reads no more for one page than it has set itself, and says where to go on', async () => {
    const { world, clock, table } = open()
    for (let i = 0; i < 3_000; i++) {
      clock.moveTo(clock.now() + 10)
      await world.store.create(newRun(clock, { id: `r${i}`, workflow: i === 5 ? 'rare' : 'w' }))
    }
    let [pages, cursor] = [0, undefined as string | undefined]
    const found: string[] = []
    do {
      const before = table.readUnits
      const page = await world.store.list({ status: 'running', limit: 50, ...(cursor !== undefined && { cursor }) })
      expect(table.readUnits - before).toBeLessThan(1_000)
      found.push(...page.runs.map(({ runId }) => runId))
      cursor = page.cursor
      pages++
    } while (cursor !== undefined)
    expect(found).toEqual([])
    expect(pages).toBeGreaterThan(1)
    const before = table.readUnits
    expect((await world.store.list({ workflow: 'rare', limit: 50 })).runs.map(({ runId }) => runId)).toEqual(['r5'])
    expect(table.readUnits - before).toBeLessThan(20)
  })

  it('has no gaps where a page ends before it is full', async () => {
    const { world, clock } = open()
    const rare = new Set([100, 6_000, 13_900])
    for (let i = 0; i < 14_000; i++) {
      clock.moveTo(clock.now() + 10)
      await world.store.create(newRun(clock, { id: `${rare.has(i) ? 'rare' : 'run'}-${i}` }))
    }
    const found: string[] = []
    let [cursor, pages] = [undefined as string | undefined, 0]
    do {
      const page = await world.store.list({ idPrefix: 'rare-', limit: 50, ...(cursor !== undefined && { cursor }) })
      found.push(...page.runs.map(({ runId }) => runId))
      cursor = page.cursor
      pages++
    } while (cursor !== undefined)
    expect(found).toEqual(['rare-13900', 'rare-6000', 'rare-100'])
    expect(pages).toBeGreaterThan(1)
  }, 120_000)

  it('has a run under its tags for as long as it waits, and not an earlier one that had its id', async () => {
    const { world, clock } = open()
    const tagged = async () =>
      (await world.store.list({ tag: 'customer:42', limit: 10 })).runs.map(({ runId: id, createdAt }) => [
        id,
        createdAt,
      ])
    const born = clock.now()
    await world.store.create(newRun(clock, { tags: ['customer:42'], wakeAt: clock.now() + 360 * DAY }))
    clock.moveTo(clock.now() + 350 * DAY)
    expect(await tagged()).toEqual([['r', born]])
    await world.store.terminate('r', 'enough')
    clock.moveTo(clock.now() + 31 * DAY)
    expect(await tagged()).toEqual([])
    await world.store.create(newRun(clock, { tags: ['customer:42'] }))
    expect(await tagged()).toEqual([['r', clock.now()]])
  })
})

describe('erasing a run', () => {
  it('leaves no item and no object: payloads, tasks and tags included', async () => {
    const { world, table, aws } = open()
    const registry = new Registry([hands])
    const client = new Client(world, registry)
    const large = randomBytes(700_000).toString('base64')
    await client.start(hands, { large }, { id: 'r', tags: ['customer:42'] })
    const take = () => runOnce(world, registry, 'r', { lease: { owner: 'o', ms: 30_000 } })
    expect(await take()).toEqual({ status: 'suspended' })
    await client.signal('r', 'more', { large })
    expect(aws.objects.list().length).toBeGreaterThan(1)
    await client.terminate('r')
    await client.erase('r')
    expect(aws.objects.list()).toEqual([])
    const left = [...table.items()].map(({ item }) => `${item.pk!.S} ${item.sk!.S}`)
    expect(left.filter((key) => !key.startsWith('LISTED '))).toEqual([])
  })

  it('leaves the objects of another run whose id begins alike', async () => {
    const { world, aws } = open()
    const registry = new Registry([hands])
    const client = new Client(world, registry)
    const large = randomBytes(700_000).toString('base64')
    for (const id of ['r', 'r2']) await client.start(hands, { large }, { id })
    await client.terminate('r')
    await client.erase('r')
    expect(aws.objects.list().map(({ key }) => key)).toEqual([expect.stringMatching(/^runs\/r2\//)])
  })
})

describe('a task in its queue', () => {
  const ask = workflow('ask', async (ctx, input: string) => ctx.task('chore', input))

  it('may have the two characters that SQS refuses', async () => {
    const { world, chores } = open()
    const registry = new Registry([ask])
    await new Client(world, registry).start(ask, 'odd \ufffe and \uffff', { id: 'r' })
    expect(await runOnce(world, registry, 'r', { lease: { owner: 'o', ms: 30_000 } })).toEqual({ status: 'suspended' })
    const [message] = chores.contents
    expect(message!.body).not.toMatch(/[\ufffe\uffff]/)
    expect(JSON.parse(message!.body)).toMatchObject({ input: 'odd \ufffe and \uffff' })
  })
})

describe('a run that has to go on time', () => {
  const incompressible = () => randomBytes(600_000).toString('hex')
  const start = async (options: { retention: Duration; large?: boolean; fails?: boolean }) => {
    const opened = open()
    const { world, aws, table } = opened
    const letter = workflow(
      'letter',
      { retention: options.retention, tags: () => ['own'] },
      async (ctx, { text }: { text: string }) => {
        await ctx.step('read', () => text)
        if (options.fails) throw new Error('no')
        return text.length
      },
    )
    const registry = new Registry([letter])
    const client = new Client(world, registry)
    await client.start(letter, { text: options.large ? incompressible() : 'short' }, { id: 'r' })
    const take = (id = 'r') => runOnce(world, registry, id, { lease: { owner: 'o', ms: 30_000 } })
    await take()
    const left = () => [...table.items()].map(({ item }) => item).filter((item) => item.pk!.S !== 'LISTED')
    return { ...opened, client, take, left, objects: () => aws.objects.list() }
  }

  it('is kept for a minute with a retention of 0, for callers that wait, and then removed', async () => {
    const { client, clock, world, left } = await start({ retention: 0 })
    expect(await client.result('r')).toBe(5)
    clock.moveTo(clock.now() + 59_000)
    await world.sweep(100)
    expect((await client.get('r')).status).toBe('completed')
    clock.moveTo(clock.now() + 2_000)
    await expect(client.get('r')).rejects.toThrow("no run 'r'")
    await world.sweep(100)
    expect(left()).toEqual([])
  })

  it('takes its objects along when its retention has passed, and not before', async () => {
    const { clock, world, left, objects } = await start({ retention: '30d', large: true })
    expect(objects().length).toBeGreaterThan(0)
    clock.moveTo(clock.now() + 29 * DAY)
    await world.sweep(100)
    expect(objects().length).toBeGreaterThan(0)
    clock.moveTo(clock.now() + DAY + MINUTE)
    await world.sweep(100)
    expect(objects()).toEqual([])
    expect(left()).toEqual([])
  })

  it('stays while it is let go on, and goes after its next end', async () => {
    const { client, take, clock, world, left } = await start({ retention: '1h', fails: true })
    clock.moveTo(clock.now() + 59 * MINUTE)
    await client.retry('r')
    clock.moveTo(clock.now() + 2 * MINUTE)
    await world.sweep(100)
    expect((await client.get('r')).status).toBe('pending')
    await take()
    clock.moveTo(clock.now() + 58 * MINUTE)
    await world.sweep(100)
    expect((await client.get('r')).status).toBe('failed')
    clock.moveTo(clock.now() + 120 * MINUTE)
    await world.sweep(100)
    expect(left()).toEqual([])
  })

  it('costs all the others nothing', async () => {
    const { left } = await start({ retention: '30d' })
    expect(left().map(({ sk }) => sk!.S!.slice(0, 3))).not.toContain('REM')
  })

  it.each([
    ['in an item of its own', 5_000],
    ['in S3', 600_000],
  ])('takes nothing from a later run with its id and the same input, %s', async (_, bytes) => {
    const { client, take, clock, world } = await start({ retention: '1h', large: true })
    const text = randomBytes(bytes).toString('hex')
    const again = () => client.start('letter', { text }, { id: 'other' })
    await again()
    await client.terminate('other')
    clock.moveTo(clock.now() + 61 * MINUTE)
    expect(await again()).toMatchObject({ created: true })
    await world.sweep(100)
    clock.moveTo(clock.now() + 60 * MINUTE)
    await world.sweep(100)
    expect((await client.get('other')).input).toEqual({ text })
    await take('other')
    expect(await client.result('other')).toBe(text.length)
  })

  it('does not keep its neighbours from going when it cannot be removed', async () => {
    const { client, clock, world, aws, left } = await start({ retention: '1h', large: true })
    await client.start('letter', { text: 'other' }, { id: 'other' })
    await client.terminate('other')
    const { list } = aws.objects
    aws.objects.list = (prefix) => {
      if (prefix?.startsWith('runs/r/')) throw new Error('S3 is down')
      return list.call(aws.objects, prefix)
    }
    clock.moveTo(clock.now() + 2 * 60 * MINUTE)
    await world.sweep(100)
    expect(new Set(left().map(({ pk }) => pk!.S))).toEqual(new Set(['RUN#r', 'TAG#own']))
    aws.objects.list = list
    await world.sweep(100)
    expect(left()).toEqual([])
  })
})
