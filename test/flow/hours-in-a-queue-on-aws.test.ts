import { expect, test } from 'vitest'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { type AnyWorkflow, workflow } from '../../sdk/index.ts'
import { readWake } from '../../sdk/worlds/aws/wake-message.ts'
import type { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { slowCloud } from '../outside/slow-cloud.ts'

const MINUTE = 60_000

/** Runners take what comes, and the sweeper comes every so often. */
function served(flow: AnyWorkflow, sweepEveryMs = 5 * MINUTE) {
  const cloud = slowCloud([flow])
  const runner = cloud.open()
  const world = runner.world as AwsWorld
  cloud.aws.eventSource(cloud.aws.sqs.createQueue('wakes'), {
    batchSize: 1,
    maxConcurrency: 5,
    timeoutMs: MINUTE,
    handler: async ([message]) => {
      const { runId } = readWake(message!.body)
      const options = { lease: { owner: 'runner', ms: 30_000 }, deadline: cloud.clock.now() + MINUTE }
      await runOnce(world, runner.registry, runId, options)
      return []
    },
  })
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= sweepEveryMs) {
      await cloud.wait(Math.min(left, sweepEveryMs))
      await world.sweep(1_000)
    }
  }
  return { ...cloud, client: cloud.open(), pass }
}

test('a rate with a long period holds also for runs that wait for more than an hour', async () => {
  const begun: number[] = []
  const flow = workflow('w', { rateLimit: { limit: 2, per: '1d' } }, (ctx) =>
    ctx.step('go', () => void begun.push(clock.now())),
  )
  const { client, pass, clock } = served(flow, 20 * MINUTE)
  for (let i = 0; i < 6; i++) await client.start(flow, undefined, { id: `r${i}` })
  await pass(3 * 60 * MINUTE)
  expect(begun).toHaveLength(2)
  await pass(24 * 60 * MINUTE)
  expect(begun).toHaveLength(4)
})

test('a run that is queued for hours is in the queue once', async () => {
  const flow = workflow('w', { concurrency: { limit: 1 } }, (ctx) => ctx.sleep('30h'))
  const { client, pass } = served(flow, 20 * MINUTE)
  for (let i = 0; i < 5; i++) await client.start(flow, undefined, { id: `r${i}` })
  await pass(6 * 60 * MINUTE)
  const [limiter] = (await client.limits.get('w:concurrency')).gates
  expect(limiter).toMatchObject({ inside: 1, waiting: { count: 4 }, next: ['r1', 'r2', 'r3', 'r4'] })
})
