import { describe, expect, it } from 'vitest'
import { Client } from '../../../sdk/client/client.ts'
import { runOnce } from '../../../sdk/engine/run-loop.ts'
import { FatalError, Registry, workflow } from '../../../sdk/index.ts'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../../sdk/worlds/aws/table.ts'
import { AwsWorld } from '../../../sdk/worlds/aws/world.ts'
import { AwsInMemory } from './aws-in-memory.ts'
import type { Attempt, Fate } from './network.ts'
import { passTime } from './pass-time.ts'

let isMended = false
const pay = workflow('pay', (ctx) =>
  ctx.step('charge', () => {
    if (!isMended) throw new FatalError('no money')
    return 'paid'
  }),
)
let token = ''
const ask = workflow('ask', async (ctx) => {
  const callback = ctx.callback('answer')
  token = callback.token
  return callback.promise
})
const registry = new Registry([pay, ask])

function setUp() {
  isMended = false
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const aws = new AwsInMemory({ seed: 'retry', clock })
  aws.createTable(createTableInput('runs'), { timeToLive: TABLE.timeToLive })
  const wakes = aws.sqs.createQueue('wakes')
  const process = (name: string, fateOf?: (attempt: Attempt) => Fate) => {
    const network = aws.network(name, fateOf)
    const targets = { queueUrl: wakes.url, queueArn: wakes.arn, schedulerGroup: 'group', schedulerRoleArn: 'role' }
    const clients = { clients: aws.clientsOf(network), objects: aws.objectsOf(network) }
    return new AwsWorld({
      table: 'runs',
      bucket: 'payloads',
      ...targets,
      ...clients,
      clock: network.clock(),
      log: () => {},
    })
  }
  return { clock, process }
}

/** Dies right after the first call that speaks of this was carried out. */
const diesAfter =
  (text: string) =>
  ({ input }: Attempt): Fate =>
    JSON.stringify(input).includes(text) ? { outcome: 'dies after' } : { outcome: 'done' }

describe('a request whose process dies half-way', () => {
  it.each([
    ['again, as a repeat', { idempotencyKey: 'once' }],
    ['again, as a new request', {}],
  ])('to retry a run, is carried through when it is made %s', async (_, options) => {
    const { clock, process } = setUp()
    const world = process('healthy')
    const client = new Client(world, registry)
    const run = () => runOnce(world, registry, 'r', { lease: { owner: 'test', ms: 30_000 } })
    await client.start(pay, undefined, { id: 'r' })
    expect(await run()).toEqual({ status: 'failed' })
    isMended = true
    void new Client(process('mortal', diesAfter('run.retried')), registry).retry('r', { idempotencyKey: 'once' })
    await passTime(clock, 1_000)
    expect(await client.get('r')).toMatchObject({ status: 'failed' })

    await client.retry('r', options)
    expect(await run()).toEqual({ status: 'completed' })
    // Asked once more, it is known to have been done.
    await client.retry('r', { idempotencyKey: 'once' })
  })

  it('to complete a callback, is carried through when it is repeated: the run hears of it (I6)', async () => {
    const { clock, process } = setUp()
    const world = process('healthy')
    const client = new Client(world, registry)
    const run = () => runOnce(world, registry, 'r', { lease: { owner: 'test', ms: 30_000 } })
    await client.start(ask, undefined, { id: 'r' })
    expect(await run()).toEqual({ status: 'suspended' })
    void new Client(process('mortal', diesAfter('M#callback')), registry).completeCallback(token, 42, {
      idempotencyKey: 'once',
    })
    await passTime(clock, 1_000)
    expect(await run()).toEqual({ status: 'skipped' })

    await client.completeCallback(token, 42, { idempotencyKey: 'once' })
    expect(await run()).toEqual({ status: 'completed' })
    await client.completeCallback(token, 42, { idempotencyKey: 'once' })
    await expect(client.completeCallback(token, 43, { idempotencyKey: 'once' })).rejects.toThrow('the first one counts')
  })
})
