import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge'
import { CreateQueueCommand, GetQueueAttributesCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import { beforeAll, describe, expect, it } from 'vitest'
import { nap, order } from '../../workflows/index.ts'
import { type Deployment, deployed, eventually } from './deployment.ts'

interface Told {
  'detail-type': string
  resources: string[]
  detail: {
    id: string
    runId: string
    workflow: string
    resumedFromWait?: boolean
    status?: string
    tags?: string[]
    error?: object
  }
}

const STATUS_CHANGE = 'Overwinter Run Status Change'

describe('lifecycle events', () => {
  let deployment: Deployment
  let queueUrl: string
  const told = new Map<string, Told>()

  beforeAll(async () => {
    deployment = await deployed()
    const { sqs } = deployment.aws
    queueUrl = (await sqs.send(new CreateQueueCommand({ QueueName: `lifecycle-${Date.now()}` }))).QueueUrl!
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['QueueArn'] }),
    )
    const bus = new EventBridgeClient()
    await bus.send(new PutRuleCommand({ Name: 'lifecycle', EventPattern: JSON.stringify({ source: ['overwinter'] }) }))
    await bus.send(new PutTargetsCommand({ Rule: 'lifecycle', Targets: [{ Id: 'queue', Arn: Attributes!.QueueArn! }] }))
  })

  /** The types of all that was told of a run, in the journal's order, once its end was told. At least once means: by id. */
  const toldOf = (runId: string, last: string) =>
    eventually(`${last} was told`, async () => {
      const { Messages = [] } = await deployment.aws.sqs.send(
        new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10 }),
      )
      for (const { Body } of Messages) {
        const event = JSON.parse(Body!) as Told
        told.set(event.detail.id, event)
      }
      const mine = [...told.values()].filter(({ detail }) => detail.runId === runId)
      mine.sort((a, b) => a.detail.id.localeCompare(b.detail.id, 'en', { numeric: true }))
      return mine.some((event) => event['detail-type'] === last) && mine
    })

  it('tell of a run from its start to its end', async () => {
    const { runId } = await deployment.client.start(nap, { name: 'Ada', seconds: 2 })
    const events = (await toldOf(runId, 'run.completed')).filter((event) => event['detail-type'] !== STATUS_CHANGE)
    expect(events.map((event) => [event['detail-type'], event.detail.resumedFromWait])).toEqual([
      ['run.started', undefined],
      ['step.completed', false],
      ['run.paused', undefined],
      ['step.completed', true],
      ['step.completed', false],
      ['run.completed', undefined],
    ])
    for (const { detail } of events) expect(detail.workflow).toBe('nap')
  })

  it('tell of each status that a run comes to, with its tags and its error', async () => {
    const { runId } = await deployment.client.start(
      order,
      { id: 'o-8', cents: 1, address: 'x', patience: '1s' },
      { tags: ['customer:8'] },
    )
    const changes = await eventually('its failure was told', async () => {
      const events = (await toldOf(runId, STATUS_CHANGE)).filter((event) => event['detail-type'] === STATUS_CHANGE)
      return events.length === 2 && events
    })
    expect(changes.map(({ detail }) => detail.status).sort()).toEqual(['FAILED', 'PENDING'])
    for (const { detail, resources } of changes) {
      expect(detail.tags).toContain('customer:8')
      expect(resources[0]).toMatch(new RegExp(`^arn:aws:dynamodb:.*/run/${runId}$`))
    }
    expect(changes.find(({ detail }) => detail.status === 'FAILED')!.detail.error).toMatchObject({
      name: expect.any(String),
      message: expect.any(String),
    })
  })

  it('tell of failure and of termination', async () => {
    const { client } = deployment
    const input = { id: 'o-9', cents: 1, address: 'x' }
    const failed = await client.start(order, { ...input, patience: '1s' })
    expect(await toldOf(failed.runId, 'run.failed')).toBeDefined()
    const terminated = await client.start(order, input)
    await eventually('it waits', async () => (await client.get(terminated.runId)).status === 'waiting')
    await client.terminate(terminated.runId)
    expect(await toldOf(terminated.runId, 'run.terminated')).toBeDefined()
  })
})
