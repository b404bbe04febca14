import { DeleteCommand, DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { FORMAT } from '../../sdk/base/names.ts'
import type { NewRun } from '../../sdk/ports/run.ts'
import type { RunFilter } from '../../sdk/ports/run-lists.ts'
import type { AwsClients } from '../../sdk/worlds/aws/clients.ts'
import type { Key } from '../../sdk/worlds/aws/keys.ts'
import type { Table } from '../sim/aws/dynamodb/table.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const DAY = 86_400_000

function open() {
  let [calls, writes] = [0, 0]
  const onCall = ({ command }: { command: string }) => {
    calls++
    if (command === 'PutItemCommand') writes++
  }
  const opened = openAwsInMemory({ seed: 'lists', onCall })
  const { world, clock, table } = opened
  let made = 0
  /** One run of each workflow, a tenth of a second apart. */
  const start = async (workflows: number, more: Partial<NewRun> = {}, into = world) => {
    for (let i = 0; i < workflows; i++) {
      clock.moveTo(clock.now() + 100)
      const [id, now] = [`run-${made++}`, clock.now()]
      const run = {
        id,
        workflow: `tenant-${i}`,
        version: 1,
        format: FORMAT,
        input: {},
        secret: 's',
        createdAt: now,
        wakeAt: now,
        tags: [],
        retentionMs: 90 * DAY,
      }
      await into.store.create({ ...run, ...more })
    }
  }
  const list = async (filter: Partial<RunFilter> = {}) => {
    const before = { calls, units: table.readUnits }
    const page = await world.store.list({ limit: 50, ...filter })
    return {
      ...page,
      ids: page.runs.map(({ runId }) => runId),
      calls: calls - before.calls,
      readUnits: table.readUnits - before.units,
    }
  }
  const listAll = async (filter: Partial<RunFilter> = {}) => {
    const ids: string[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await list({ ...filter, ...(cursor !== undefined && { cursor }) })
      ids.push(...page.ids)
      cursor = page.cursor
      if (cursor === undefined) return ids
    }
  }
  return { ...opened, start, list, listAll, items: byHand(opened.clients, table), writes: () => writes }
}

function byHand({ dynamodb }: AwsClients, table: Table) {
  const db = DynamoDBDocumentClient.from(dynamodb)
  const all = () =>
    [...table.items()].map(({ item }) => ({ pk: item.pk!.S!, sk: item.sk!.S!, text: JSON.stringify(item) }))
  return {
    all,
    put: (Item: Key) => db.send(new PutCommand({ TableName: 'runs', Item })),
    remove: async (isMeant: (pk: string) => boolean) => {
      const meant = all().filter(({ pk }) => isMeant(pk))
      for (const { pk, sk } of meant) await db.send(new DeleteCommand({ TableName: 'runs', Key: { pk, sk } }))
      return meant
    },
  }
}

const newest = (from: number, count: number) => Array.from({ length: count }, (_, i) => `run-${from - i}`)

describe('a list of the runs of all workflows', () => {
  it('asks no more of DynamoDB at 400 workflows than at 100, and shows the newest first', async () => {
    const [few, many] = [open(), open()]
    await few.start(100)
    await few.start(100)
    await many.start(400)
    const [ofFew, ofMany] = [await few.list(), await many.list()]
    expect(ofFew.ids).toEqual(newest(199, 50))
    expect(ofMany.ids).toEqual(newest(399, 50))
    expect(ofMany.calls).toBeLessThanOrEqual(ofFew.calls)
    expect(ofMany.calls).toBeLessThan(600)
  })

  it('shows every run once, page by page', async () => {
    const { start, listAll } = open()
    await start(90)
    await start(90)
    expect(await listAll()).toEqual(newest(179, 180))
  })

  it('finds runs of workflows that are not listed by workflow, tag and the beginning of their ids', async () => {
    const { start, listAll } = open()
    await start(80, { tags: ['shop'], commonTags: ['shop'] })
    await start(80)
    expect(await listAll({ workflow: 'tenant-77' })).toEqual(['run-157', 'run-77'])
    expect(await listAll({ tag: 'shop' })).toEqual(newest(79, 80))
    expect(await listAll({ tag: 'shop', workflow: 'tenant-77' })).toEqual(['run-77'])
    expect(await listAll({ idPrefix: 'run-15' })).toEqual([...newest(159, 10), 'run-15'])
  })

  it('has the runs of a table that knew no limit of listed workflows, and asks their partitions only for what is that old', async () => {
    const { start, list, listAll, items, openWorld, clock } = open()
    // As it was left: each workflow that was ever used has an entry, and no run has one in the partition of all.
    await start(100)
    await items.remove((pk) => pk === 'LISTED' || pk.startsWith('ALL#'))
    for (let i = 0; i < 100; i++) await items.put({ pk: 'WORKFLOWS', sk: `tenant-${i}` })
    expect(await listAll()).toEqual(newest(99, 100))

    const upgraded = openWorld()
    await start(100, {}, upgraded)
    expect(await listAll()).toEqual(newest(199, 200))
    clock.moveTo(clock.now() + 2 * DAY)
    await start(100, {}, upgraded)
    expect((await list()).calls).toBeLessThan(600)
    expect(await listAll()).toEqual(newest(299, 300))
    expect(await listAll({ from: clock.now() - DAY })).toEqual(newest(299, 100))
  })

  it('goes on with the workflows of such a table as they were, where they are few', async () => {
    const { start, listAll, items, openWorld } = open()
    await start(10, { tags: ['shop'], commonTags: ['shop'] })
    const listed = await items.remove((pk) => pk === 'LISTED')
    for (const { sk } of listed.filter(({ sk }) => sk !== '\n')) await items.put({ pk: 'WORKFLOWS', sk })
    await start(1, {}, openWorld())
    expect(await listAll()).toEqual(newest(10, 11))
    expect(await listAll({ tag: 'shop' })).toEqual(newest(9, 10))
  })

  it('costs a run of a listed workflow nothing but its index entry, in every process but the first', async () => {
    const { start, openWorld, writes } = open()
    await start(1)
    const before = writes()
    await start(1, {}, openWorld())
    expect(writes() - before).toBe(1)
  })

  it('leaves nothing of a run that was erased', async () => {
    const { start, world, items } = open()
    await start(70)
    await world.store.terminate('run-69', 'done')
    expect(await world.store.erase('run-69')).toBe('erased')
    expect(items.all().filter(({ text }) => text.includes('run-69'))).toEqual([])
  })
})
