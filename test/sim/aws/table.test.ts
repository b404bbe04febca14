import {
  BatchGetCommand,
  BatchWriteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../../sdk/worlds/aws/table.ts'
import { AwsInMemory } from './aws-in-memory.ts'
import type { DynamoDbHabits } from './dynamodb/habits.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const DAY = 86_400_000
const TableName = 'runs'

function setUp(habits: Partial<DynamoDbHabits> = {}, seed = 'table') {
  const clock = new VirtualClock(START)
  const aws = new AwsInMemory({ seed, clock, habits: { dynamodb: habits } })
  const table = aws.createTable(createTableInput(TableName), { timeToLive: TABLE.timeToLive })
  const db = DynamoDBDocumentClient.from(aws.clientsOf(aws.network('test')).dynamodb, {
    marshallOptions: { removeUndefinedValues: true },
  })
  const put = (sk: string, rest: object = {}) => db.send(new PutCommand({ TableName, Item: { pk: 'p', sk, ...rest } }))
  const get = async (sk: string, ConsistentRead = true) =>
    (await db.send(new GetCommand({ TableName, Key: { pk: 'p', sk }, ConsistentRead }))).Item
  const query = (rest: object = {}) =>
    db.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': 'p' },
        ...rest,
      }),
    )
  const inIndex = async () => {
    const { Items } = await db.send(
      new QueryCommand({
        TableName,
        IndexName: 'list',
        KeyConditionExpression: 'listShard = :s',
        ExpressionAttributeValues: { ':s': 'LIST#0' },
      }),
    )
    return Items!.map(({ sk }) => sk as string)
  }
  return { clock, aws, table, db, put, get, query, inIndex }
}

describe('a query', () => {
  it('ends its page once it has read 1 MB, and goes on behind it', async () => {
    const { put, query } = setUp()
    for (let i = 0; i < 12; i++) await put(`${i + 10}`, { data: 'x'.repeat(100_000) })
    const first = await query()
    expect(first).toMatchObject({ Count: 11, LastEvaluatedKey: { pk: 'p', sk: '20' } })
    const second = await query({ ExclusiveStartKey: first.LastEvaluatedKey })
    expect(second.Items!.map(({ sk }) => sk)).toEqual(['21'])
    expect(second.LastEvaluatedKey).toBeUndefined()
  })

  it('counts its limit before the filter, so that a page can be empty and still not the last', async () => {
    const { put, query } = setUp()
    for (const sk of ['1', '2', '3']) await put(sk, { n: Number(sk) })
    const page = await query({
      Limit: 2,
      FilterExpression: 'n > :n',
      ExpressionAttributeValues: { ':pk': 'p', ':n': 2 },
    })
    expect(page).toMatchObject({ Items: [], Count: 0, ScannedCount: 2, LastEvaluatedKey: { sk: '2' } })
  })
})

describe('time to live', () => {
  const seconds = (ms: number) => Math.ceil(ms / 1_000)

  it('takes an item at its time and not before, where it is prompt', async () => {
    const { clock, put, get, query } = setUp()
    await put('1', { ttl: seconds(START + 60_000) })
    clock.moveTo(START + 59_999)
    expect(await get('1')).toBeDefined()
    clock.moveTo(START + 60_000)
    expect(await get('1')).toBeUndefined()
    expect((await query()).Items).toEqual([])
  })

  it('may take days, each item its own, and the items tell when', async () => {
    const { clock, put, get, table } = setUp({ ttlLagMs: [0, 4 * DAY] })
    const due = START + 60_000
    for (let i = 0; i < 20; i++) await put(`${i}`, { ttl: seconds(due) })
    const goesAt = [...table.items()].map((one) => one.goesAt!)
    expect(Math.min(...goesAt)).toBeGreaterThanOrEqual(due)
    expect(Math.max(...goesAt)).toBeLessThanOrEqual(due + 4 * DAY)
    expect(new Set(goesAt).size).toBeGreaterThan(10)
    clock.moveTo(due + 4 * DAY)
    expect([...table.items()]).toEqual([])
    expect(await get('1')).toBeUndefined()
  })

  it('follows the last ttl that was written', async () => {
    const { clock, put, get, db } = setUp()
    await put('1', { ttl: seconds(START + 1_000) })
    const key = { TableName, Key: { pk: 'p', sk: '1' } }
    const names = { ExpressionAttributeNames: { '#ttl': 'ttl' } }
    await db.send(
      new UpdateCommand({
        ...key,
        ...names,
        UpdateExpression: 'SET #ttl = :t',
        ExpressionAttributeValues: { ':t': seconds(START + 9_000) },
      }),
    )
    clock.moveTo(START + 8_999)
    expect(await get('1')).toBeDefined()
    await db.send(new UpdateCommand({ ...key, ...names, UpdateExpression: 'REMOVE #ttl' }))
    clock.moveTo(START + 900_000)
    expect(await get('1')).toBeDefined()
  })

  it('leaves alone what would have expired more than five years ago', async () => {
    const { clock, put, get } = setUp()
    await put('1', { ttl: 1 })
    clock.moveTo(START + DAY)
    expect(await get('1')).toBeDefined()
  })

  it('takes the entry out of the indexes too', async () => {
    const { clock, put, inIndex } = setUp()
    await put('1', { listShard: 'LIST#0', listKey: '1', ttl: seconds(START + 1_000) })
    expect(await inIndex()).toEqual(['1'])
    clock.moveTo(START + 1_000)
    expect(await inIndex()).toEqual([])
  })
})

describe('an index', () => {
  it('follows late, within its lag', async () => {
    const { clock, put, inIndex } = setUp({ indexLagMs: [1_000, 5_000] })
    for (let i = 0; i < 8; i++) await put(`${i}`, { listShard: 'LIST#0', listKey: `${i}` })
    expect(await inIndex()).toEqual([])
    clock.moveTo(START + 3_000)
    const some = await inIndex()
    expect(some.length).toBeGreaterThan(0)
    expect(some.length).toBeLessThan(8)
    clock.moveTo(START + 5_000)
    expect(await inIndex()).toHaveLength(8)
  })

  it('never shows an older state of an item after a newer one', async () => {
    const { clock, db, put } = setUp({ indexLagMs: [0, 5_000] })
    const shown: number[] = []
    for (let n = 1; n <= 50; n++) {
      await put('1', { listShard: 'LIST#0', listKey: '1', tags: n })
      clock.moveTo(clock.now() + 300)
      const { Items } = await db.send(
        new QueryCommand({
          TableName,
          IndexName: 'list',
          KeyConditionExpression: 'listShard = :s',
          ExpressionAttributeValues: { ':s': 'LIST#0' },
        }),
      )
      shown.push((Items![0]?.tags as number | undefined) ?? 0)
    }
    expect(shown).toEqual([...shown].sort((a, b) => a - b))
  })

  it('holds only what it projects', async () => {
    const { put, db } = setUp()
    await put('1', { listShard: 'LIST#0', listKey: '1', workflow: 'order', status: 'open' })
    const { Items } = await db.send(
      new QueryCommand({
        TableName,
        IndexName: 'list',
        KeyConditionExpression: 'listShard = :s',
        ExpressionAttributeValues: { ':s': 'LIST#0' },
      }),
    )
    expect(Items).toEqual([{ pk: 'p', sk: '1', listShard: 'LIST#0', listKey: '1', workflow: 'order' }])
  })
})

describe('a read that is not strongly consistent', () => {
  it('may see the past, but never further back than the lag, and a consistent one never does', async () => {
    const { clock, put, get } = setUp({ staleReads: { chance: 1, lagMs: [500, 500] } })
    await put('1', { n: 1 })
    expect(await get('1', false)).toBeUndefined()
    expect(await get('1')).toMatchObject({ n: 1 })
    clock.moveTo(START + 1_000)
    await put('1', { n: 2 })
    await put('1', { n: 3 })
    expect(await get('1', false)).toMatchObject({ n: 1 })
    clock.moveTo(START + 1_500)
    expect(await get('1', false)).toMatchObject({ n: 3 })
  })
})

describe('batches', () => {
  it('take 25 writes and no repeats', async () => {
    const { db } = setUp()
    const write = (...sks: string[]) =>
      db.send(
        new BatchWriteCommand({
          RequestItems: { [TableName]: sks.map((sk) => ({ PutRequest: { Item: { pk: 'p', sk } } })) },
        }),
      )
    await write(...Array.from({ length: 25 }, (_, i) => `${i}`))
    await expect(write(...Array.from({ length: 26 }, (_, i) => `${i}`))).rejects.toMatchObject({
      name: 'ValidationException',
      message: /Too many items/,
    })
    await expect(write('1', '1')).rejects.toMatchObject({ message: /duplicates/ })
  })

  it('leave what goes beyond 16 MB for the next call', async () => {
    const { put, db } = setUp()
    for (let i = 0; i < 45; i++) await put(`${i}`, { data: 'x'.repeat(399_980) })
    const Keys = Array.from({ length: 45 }, (_, i) => ({ pk: 'p', sk: `${i}` }))
    const { Responses, UnprocessedKeys } = await db.send(
      new BatchGetCommand({ RequestItems: { [TableName]: { Keys } } }),
    )
    expect(Responses![TableName]).toHaveLength(41)
    expect(UnprocessedKeys![TableName]!.Keys).toEqual(Keys.slice(41))
  })

  it('may leave a part undone, and get somewhere each time', async () => {
    const { db, table } = setUp({ unprocessed: 0.9 })
    let left: Record<string, object[]> | undefined = {
      [TableName]: Array.from({ length: 10 }, (_, i) => ({ PutRequest: { Item: { pk: 'p', sk: `${i}` } } })),
    }
    let calls = 0
    while (left && Object.keys(left).length > 0) {
      left = (await db.send(new BatchWriteCommand({ RequestItems: left }))).UnprocessedItems
      calls++
    }
    expect(calls).toBeGreaterThan(1)
    expect([...table.items()]).toHaveLength(10)
  })
})

describe('a transaction', () => {
  const put = (sk: string, rest: object = {}) => ({ Put: { TableName, Item: { pk: 'p', sk }, ...rest } })

  it('writes all or nothing, and says which part was refused, with the item as it stood', async () => {
    const { db, get, put: putNow } = setUp()
    await putNow('1', { n: 1 })
    const refused = put('1', {
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    })
    await expect(db.send(new TransactWriteCommand({ TransactItems: [put('2'), refused] }))).rejects.toMatchObject({
      name: 'TransactionCanceledException',
      message: expect.stringContaining('[None, ConditionalCheckFailed]'),
      CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed', Item: { n: { N: '1' } } }],
    })
    expect(await get('2')).toBeUndefined()
  })

  it('has limits: 100 parts, one per item, 4 MB', async () => {
    const { db } = setUp()
    const transact = (TransactItems: object[]) =>
      db.send(new TransactWriteCommand({ TransactItems: TransactItems as never }))
    await transact(Array.from({ length: 100 }, (_, i) => put(`${i}`)))
    await expect(transact(Array.from({ length: 101 }, (_, i) => put(`${i}`)))).rejects.toMatchObject({
      name: 'ValidationException',
      message: /100/,
    })
    await expect(transact([put('1'), put('1')])).rejects.toMatchObject({ message: /multiple operations on one item/ })
    const large = (i: number) => ({ Put: { TableName, Item: { pk: 'p', sk: `${i}`, data: 'x'.repeat(390_000) } } })
    await expect(transact(Array.from({ length: 11 }, (_, i) => large(i)))).rejects.toMatchObject({ message: /4MB/ })
  })

  it('may conflict with another one, and has done nothing then', async () => {
    const { db, get } = setUp({ transactionConflict: 1 })
    await expect(db.send(new TransactWriteCommand({ TransactItems: [put('1')] }))).rejects.toMatchObject({
      CancellationReasons: [{ Code: 'TransactionConflict' }],
    })
    expect(await get('1')).toBeUndefined()
  })
})
