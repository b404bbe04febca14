import { DeleteScheduleCommand } from '@aws-sdk/client-scheduler'
import { GetQueueAttributesCommand, SendMessageCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeWake } from '../../sdk/worlds/aws/wake-message.ts'
import { scheduleName } from '../../sdk/worlds/aws/wakeups.ts'
import { fanOut, nap } from '../../workflows/index.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { type Deployment, deployed, eventually } from './deployment.ts'
import { deadly, healed, poison, punctual } from './workflows.ts'

/** A failed message comes back after six times the runner's timeout: minutes. Here it is a little more than a lease. */
const COMES_BACK_AFTER_S = 8

describe.concurrent('trouble', () => {
  let deployment: Deployment
  let client: Deployment['client']
  let usual: string

  beforeAll(async () => {
    deployment = await deployed()
    client = deployment.client
    const { Attributes } = await deployment.aws.sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: deployment.outputs.QueueUrl, AttributeNames: ['VisibilityTimeout'] }),
    )
    usual = Attributes!.VisibilityTimeout!
    await setVisibility(String(COMES_BACK_AFTER_S))
  })
  afterAll(() => setVisibility(usual))

  const setVisibility = (VisibilityTimeout: string) =>
    deployment.aws.sqs.send(
      new SetQueueAttributesCommand({ QueueUrl: deployment.outputs.QueueUrl, Attributes: { VisibilityTimeout } }),
    )

  it('a runner killed in the middle of a step: another one goes on from the journal', async () => {
    const { runId } = await client.start(deadly, { deaths: 1 })
    expect(await client.result(runId, { timeout: PATIENCE_MS })).toEqual({ before: 'kept', deaths: 1 })
    const steps = (await client.history(runId)).filter(({ type }) => type === 'step.completed')
    expect(steps.map((event) => 'id' in event && event.id)).toEqual(['before', 'dies'])
  })

  it('every message delivered five times: everything happens once', async () => {
    const runs = await Promise.all(Array.from({ length: 5 }, () => client.start(fanOut, { items: 20, concurrency: 5 })))
    const again = runs.flatMap(({ runId }) => Array.from({ length: 4 }, () => writeWake({ runId, at: Date.now() })))
    await Promise.all(
      again.map((MessageBody) =>
        deployment.aws.sqs.send(new SendMessageCommand({ QueueUrl: deployment.outputs.QueueUrl, MessageBody })),
      ),
    )
    for (const { runId } of runs) {
      expect(await client.result(runId, { timeout: PATIENCE_MS })).toEqual({ count: 20, sum: 2_470 })
      const ids = (await client.history(runId)).flatMap((event) => (event.type === 'step.completed' ? [event.id] : []))
      expect(new Set(ids).size).toBe(20)
      expect(ids).toHaveLength(20)
    }
  })

  it('a schedule deleted behind our back: the sweeper wakes the run', async () => {
    const { runId } = await client.start(punctual, { ms: 10_000 })
    const at = await eventually('the run sleeps', async () => {
      const run = await client.get(runId)
      return run.status === 'sleeping' && run.wakeAt
    })
    await deployment.aws.scheduler.send(
      new DeleteScheduleCommand({ Name: scheduleName({ runId, at }), GroupName: deployment.outputs.SchedulerGroup }),
    )
    const { lateness } = await client.result<{ lateness: number }>(runId, { timeout: PATIENCE_MS })
    console.info(`the sweeper woke a run ${(lateness / 1000).toFixed(1)} s late`)
    expect(lateness).toBeGreaterThan(5_000)
  })

  it('a run that kills every runner is parked as stuck, and comes back once it is healed', async () => {
    const { runId } = await client.start(poison, undefined)
    const stuck = await client.settled(runId, { timeout: PATIENCE_MS })
    // Whichever comes first: the next runner counts the dead ones, or the queue gives the message up.
    expect(stuck).toMatchObject({
      status: 'stuck',
      error: {
        message: expect.stringMatching(/in a row the process that took up run .* died|runners failed too often/),
      },
    })
    expect((await client.list({ status: 'stuck' })).runs.map(({ runId }) => runId)).toContain(runId)
    await client.signal(runId, healed, { by: 'a fix' })
    await client.retry(runId)
    expect(await client.result(runId, { timeout: PATIENCE_MS })).toEqual({ antidote: { by: 'a fix' } })
  })

  it('a message that is none stays among the dead letters, where people find it, and hurts nobody', async () => {
    await deployment.aws.sqs.send(
      new SendMessageCommand({ QueueUrl: deployment.outputs.QueueUrl, MessageBody: 'garbage' }),
    )
    const depth = async () => {
      const AttributeNames = ['ApproximateNumberOfMessages' as const, 'ApproximateNumberOfMessagesNotVisible' as const]
      const { Attributes } = await deployment.aws.sqs.send(
        new GetQueueAttributesCommand({ QueueUrl: deployment.outputs.DeadLettersUrl, AttributeNames }),
      )
      return Object.values(Attributes!).reduce((sum, count) => sum + Number(count), 0)
    }
    await eventually('the garbage is among the dead letters', async () => (await depth()) >= 1, PATIENCE_MS)
    const { runId } = await client.start(nap, { name: 'Ada', seconds: 1 })
    await client.result(runId, { timeout: PATIENCE_MS })
  })
})
