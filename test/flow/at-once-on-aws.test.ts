import { afterEach, expect, test } from 'vitest'
import { Client } from '../../sdk/client.ts'
import { SeededRandom } from '../../sdk/engine/random.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { type AnyWorkflow, type OnConflict, Registry, workflow } from '../../sdk/index.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../sdk/worlds/aws/table.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { AwsInMemory } from '../sim/aws/aws-in-memory.ts'

let passTime: NodeJS.Timeout | undefined
afterEach(() => clearInterval(passTime))

/** Processes that talk to one table, each call taking its time: so what they do at once is interleaved. */
function slowCloud(flow: AnyWorkflow) {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const aws = new AwsInMemory({ seed: 'at once', clock, lifecycle: [] })
  aws.createTable(createTableInput('runs'), { timeToLive: TABLE.timeToLive })
  const { url: queueUrl, arn: queueArn } = aws.sqs.createQueue('wakes')
  const random = new SeededRandom('at once')
  const some = () => 1 + Math.floor(random.next() * 20)
  let processes = 0
  passTime = setInterval(() => {
    const next = clock.next()
    if (next !== undefined) clock.moveTo(next)
  }, 0)
  const registry = new Registry([flow])
  const open = () => {
    const network = aws.network(`process ${++processes}`, () => ({ outcome: 'done', thereMs: some(), backMs: some() }))
    const places = {
      table: 'runs',
      bucket: 'payloads',
      queueUrl,
      queueArn,
      schedulerGroup: 'overwinter',
      schedulerRoleArn: 'arn:aws:iam::000000000000:role/scheduler',
    }
    const world = new AwsWorld({ ...places, taskQueues: {}, clients: aws.clientsOf(network), objects: aws.objectsOf(network), clock, log: () => {} })
    return new Client(world, registry)
  }
  const take = (client: Client, runId: string) => runOnce(client.world, registry, runId, { lease: { owner: 'runner', ms: 30_000 } })
  return { open, take }
}

const single = (onConflict: OnConflict) =>
  workflow('single', { singleton: { key: (key: string) => key, onConflict } }, async (ctx, key: string) => {
    await ctx.sleep('1h')
    return key
  })

test('of several starts of one key at once, skip makes one run', async () => {
  const it = single('skip')
  const { open } = slowCloud(it)
  for (let round = 0; round < 10; round++) {
    const started = await Promise.all(Array.from({ length: 4 }, () => open().start(it, `key ${round}`)))
    expect(started.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(started.map(({ runId }) => runId)).size).toBe(1)
  }
})

test.each(['queue-latest', 'cancel-running'] as const)('of several starts of one key at once, %s leaves one', async (onConflict) => {
  const it = single(onConflict)
  const { open, take } = slowCloud(it)
  const client = open()
  for (let round = 0; round < 4; round++) {
    const first = await client.start(it, `key ${round}`)
    await take(client, first.runId)
    const started = await Promise.all([1, 2, 3].map(() => open().start(it, `key ${round}`)))
    const all = [first, ...started]
    for (let i = 0; i < 4; i++) for (const { runId } of all) await take(client, runId)
    const states = await Promise.all(all.map(async ({ runId }) => (await client.get(runId)).status))
    expect(states.slice(1).filter((status) => status !== 'cancelled')).toEqual([onConflict === 'queue-latest' ? 'queued' : 'sleeping'])
  }
})

test('starts that become runs together, at once: each input is in one of them', async () => {
  const bill = workflow('bill', { batch: { size: 4, wait: '1m' } }, async (_, inputs: number[]) => inputs)
  const { open, take } = slowCloud(bill)
  const started = await Promise.all(Array.from({ length: 12 }, (_, n) => open().start(bill, n)))
  const client = open()
  const ids = [...new Set(started.map(({ runId }) => runId))]
  await new Promise<void>((resolve) => client.world.clock.at(client.world.clock.now() + 120_000, resolve))
  for (const id of ids) await take(client, id)
  const outputs = await Promise.all(ids.map(async (id) => (await client.get(id)).output as number[]))
  expect(outputs.flat().sort((a, b) => a - b)).toEqual([...Array(12).keys()])
})
