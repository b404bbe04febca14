import { randomBytes } from 'node:crypto'
import {
  BatchWriteItemCommand,
  DescribeTimeToLiveCommand,
  ScanCommand,
  UpdateTimeToLiveCommand,
  type WriteRequest,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, Registry, signal, workflow } from '../../sdk/index.ts'
import { Tokens } from '../../sdk/tasks/tokens.ts'
import { inBatchesOf } from '../../sdk/worlds/aws/batches.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { awsClients } from './clients.ts'
import { makeResources } from './resources.ts'

/**
 * The steps of "A way back from a restore" in docs/operate.md. The stand-in knows no point-in-time recovery. What AWS makes of one is imitated:
 * a new table with the keys and indexes of the old one and its items at that point, and nothing else.
 */
const shipped: string[] = []
const go = signal<string>('go')
const order = workflow('order', async (ctx, input: { large?: string }) => {
  const word = await ctx.waitFor(go)
  await ctx.step('ship', () => void shipped.push(word!))
  return input.large?.length
})
const registry = new Registry([order])
const clients = awsClients()
let [before, after]: Awaited<ReturnType<typeof makeResources>>[] = []

beforeAll(async () => {
  ;[before, after] = await Promise.all([makeResources({ clients }), makeResources({ clients })])
})
afterAll(() => Promise.all([before!.remove(), after!.remove()]))

function open(resources: NonNullable<typeof before>) {
  const world = new AwsWorld({ ...resources, clients, log: () => {}, thresholds: { graceMs: 0 } })
  const client = new Client(world, registry)
  const take = (id: string) => runOnce(world, registry, id, { lease: { owner: 'runner', ms: 30_000 } })
  return { world, client, take, tokens: new Tokens(world) }
}

const itemsOf = async (TableName: string) =>
  (await clients.dynamodb.send(new ScanCommand({ TableName, ConsistentRead: true }))).Items ?? []

it('a stack goes on with a restored table: what is due is told, what came after the point is done again, what was taken away goes again', async () => {
  const old = open(before!)
  await old.client.start(order, {}, { id: 'o-1' })
  await old.take('o-1')
  await old.client.start(order, {}, { id: 'never-told' })
  await old.client.start(order, { large: randomBytes(600_000).toString('hex') }, { id: 'erased' })
  await old.client.terminate('erased')
  const { id: token } = await old.tokens.create({ name: 'ci', scopes: ['read'] })

  const atThePoint = await itemsOf(before!.table)

  await old.client.signal('o-1', go, 'first')
  expect(await old.take('o-1')).toMatchObject({ status: 'completed' })
  await old.client.erase('erased')
  await old.tokens.revoke(token)

  // 1. What AWS restores, into a table beside the old one; and the TTL that it does not have.
  await waitUntilTableExists({ client: clients.dynamodb, maxWaitTime: 30 }, { TableName: after!.table })
  const puts: WriteRequest[] = atThePoint.map((Item) => ({ PutRequest: { Item } }))
  for (const batch of inBatchesOf(25, puts))
    await clients.dynamodb.send(new BatchWriteItemCommand({ RequestItems: { [after!.table]: batch } }))
  const ttl = async () =>
    (await clients.dynamodb.send(new DescribeTimeToLiveCommand({ TableName: after!.table }))).TimeToLiveDescription
      ?.TimeToLiveStatus
  expect(await ttl()).toBe('DISABLED')
  const TimeToLiveSpecification = { AttributeName: 'ttl', Enabled: true }
  await clients.dynamodb.send(new UpdateTimeToLiveCommand({ TableName: after!.table, TimeToLiveSpecification }))
  expect(await ttl()).toMatch(/ENABL/)

  // 2. A stack on the new table, with the old bucket and queues of its own. Its sweeper finds what is due.
  const restored = open({ ...after!, bucket: before!.bucket })
  expect((await restored.world.sweep(100)).map(({ runId }) => runId)).toEqual(['never-told'])

  // 3. What came after the point is gone, and its effects are done again.
  expect((await restored.client.get('o-1')).status).toBe('waiting')
  await restored.client.signal('o-1', go, 'again')
  expect(await restored.take('o-1')).toMatchObject({ status: 'completed' })
  expect(shipped).toEqual(['first', 'again'])

  // 4. What was erased is back, without its objects, and goes again; so does a token that was revoked.
  await expect(restored.client.get('erased')).rejects.toThrow('404')
  await restored.client.erase('erased')
  await expect(restored.client.get('erased')).rejects.toThrow("no run 'erased'")
  expect((await restored.tokens.list()).find(({ id }) => id === token)).toMatchObject({ state: 'valid' })
  expect(await restored.tokens.revoke(token)).toBe(true)
})
