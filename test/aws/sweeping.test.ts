import { createServer } from 'node:http'
import { ListSchedulesCommand } from '@aws-sdk/client-scheduler'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, Registry, workflow } from '../../sdk/index.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { awsClients } from './clients.ts'
import { makeResources } from './resources.ts'
import { standIn } from './stand-in.ts'

const lease = { owner: 'test', ms: 30_000 }
const hibernate = workflow('hibernate', async (ctx) => {
  await ctx.sleep('winter', '90d')
  return 'spring'
})

describe('where schedules never fire, as on LocalStack', () => {
  const clients = awsClients()
  let resources: Awaited<ReturnType<typeof makeResources>>
  beforeAll(async () => {
    resources = await makeResources({ clients })
  })
  afterAll(() => resources.remove())

  it('the sweeper wakes long sleeps: not before their time, and once', async () => {
    // The stand-in's own clock is years behind this one, so no schedule of this test can fire, on any stand-in.
    const clock = new VirtualClock(Date.parse('2040-01-01T00:00:00Z'))
    const world = new AwsWorld({ ...resources, clients, clock, log: () => {} })
    const registry = new Registry([hibernate])
    const client = new Client(world, registry)
    await client.start(hibernate, undefined, { id: 'bear' })
    expect(await runOnce(world, registry, 'bear', { lease })).toEqual({ status: 'suspended' })
    const { Schedules } = await clients.scheduler.send(
      new ListSchedulesCommand({ GroupName: resources.schedulerGroup }),
    )
    expect(Schedules).toHaveLength(1)

    const found = async () => (await world.store.overdue(clock.now(), 100)).map(({ runId }) => runId)
    clock.moveTo(clock.now() + 90 * 86_400_000 - 1)
    expect(await found()).toEqual([])
    clock.moveTo(clock.now() + 120_000)
    expect(await found()).toEqual(['bear'])
    expect(await runOnce(world, registry, 'bear', { lease })).toEqual({ status: 'completed' })
    expect(await client.result('bear')).toBe('spring')
    expect(await found()).toEqual([])
  })
})

describe('the stand-in', () => {
  async function serving(paths: string[]): Promise<string> {
    const server = createServer((request, response) =>
      response.writeHead(paths.includes(request.url!) ? 200 : 404).end('{}'),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    server.unref()
    const kind = await standIn(`http://127.0.0.1:${(server.address() as { port: number }).port}`)
    server.closeAllConnections()
    server.close()
    return kind
  }

  it('is recognised by what it answers', async () => {
    expect(await serving(['/_ministack/health', '/_localstack/health'])).toBe('ministack')
    expect(await serving(['/_localstack/health'])).toBe('localstack')
    expect(await serving([])).toBe('aws')
    expect(await standIn('')).toBe('aws')
  })
})
