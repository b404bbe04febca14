import { DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { type Message, ReceiveMessageCommand, SendMessageBatchCommand, SendMessageCommand } from '@aws-sdk/client-sqs'
import { beforeAll, describe, expect, it } from 'vitest'
import { sigv4 } from '../../sdk/http-client/sigv4.ts'
import type { Json } from '../../sdk/index.ts'
import { LambdaFunctions } from '../../sdk/worlds/aws/lambda-functions.ts'
import { SignedFetch } from '../../sdk/worlds/aws/signed-fetch.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { ownCredentials, region } from './credentials.ts'
import { type Deployment, deployed, eventually } from './deployment.ts'
import { parcel } from './workflows.ts'

describe('events from outside, with what the construct lets its functions do', () => {
  let deployment: Deployment
  beforeAll(async () => {
    deployment = await deployed()
  })

  const runOf = (id: string) => eventually(`run ${id} is there`, () => deployment.client.get(id).catch(() => undefined))
  const letters: Message[] = []
  const letterWith = (attribute: 'eventId' | 'subscription', value: string) =>
    eventually(`a dead letter whose ${attribute} is ${value}`, async () => {
      const { aws, outputs } = deployment
      const request = { QueueUrl: outputs.EventDeadLettersUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] }
      letters.push(...((await aws.sqs.send(new ReceiveMessageCommand(request))).Messages ?? []))
      return letters.find(({ MessageAttributes }) => MessageAttributes?.[attribute]?.StringValue === value)
    })
  const queued = async (body: string) =>
    (
      await deployment.aws.sqs.send(
        new SendMessageCommand({ QueueUrl: deployment.outputs.ParcelQueueUrl, MessageBody: body }),
      )
    ).MessageId!

  it('from EventBridge start a run, once for each id', async () => {
    const Entries = [1, 2].map(() => ({
      Source: 'e2e.parcels',
      DetailType: 'sent',
      Detail: JSON.stringify({ id: 'p-bus', via: 'bus' }),
    }))
    await new EventBridgeClient().send(new PutEventsCommand({ Entries }))
    expect(await runOf('p-bus')).toMatchObject({ workflow: 'parcel', input: { id: 'p-bus', via: 'bus' } })
  })

  it('from a queue start runs by a mapping of the entry, and a poisoned neighbour is set aside with the reason', async () => {
    const { aws, outputs } = deployment
    const bodies = ['{"id":"p-queue-1"}', 'poison', '{"id":"p-queue-2"}']
    const Entries = bodies.map((MessageBody, i) => ({ Id: String(i), MessageBody }))
    const { Successful } = await aws.sqs.send(
      new SendMessageBatchCommand({ QueueUrl: outputs.ParcelQueueUrl, Entries }),
    )
    for (const id of ['p-queue-1', 'p-queue-2'])
      expect((await runOf(id)).input).toMatchObject({ id, via: expect.stringContaining('Parcels') })
    const { MessageId } = Successful!.find(({ Id }) => Id === '1')!
    const { Body, MessageAttributes } = await letterWith('eventId', MessageId!)
    expect(JSON.parse(Body!)).toMatchObject({ id: MessageId, body: 'poison' })
    expect(MessageAttributes).toMatchObject({
      subscription: { StringValue: 'parcel-queued' },
      reason: { StringValue: "mapping 'parcel-queued': id gave nothing for this event" },
    })
  })

  it('from a topic signal a run', async () => {
    const { client, outputs } = deployment
    const { runId } = await client.start(parcel, { id: 'p-topic', via: 'hand' }, { id: 'p-topic' })
    await publish(outputs.ParcelTopicArn, { id: runId, where: 'Oslo' })
    expect(await client.result(runId, { timeout: PATIENCE_MS })).toEqual({ via: 'hand', where: 'Oslo' })
  })

  it('from a bucket start a run for each object', async () => {
    const { client, outputs } = deployment
    await new S3Client({ forcePathStyle: true }).send(
      new PutObjectCommand({ Bucket: outputs.ParcelBucket, Key: 'labels/a b.txt', Body: 'x' }),
    )
    const run = await eventually('a run of the object', async () => {
      const { runs } = await client.list({ workflow: 'parcel', limit: 1_000 })
      const all = await Promise.all(runs.map(({ runId: id }) => client.get(id)))
      return all.find(({ input }) => (input as { id: string }).id === 'labels/a b.txt')
    })
    expect(run.input).toEqual({ id: 'labels/a b.txt', via: 'ObjectCreated:Put' })
  })

  it('from the stream of a table cancel a run', async () => {
    const { client, aws, outputs } = deployment
    await client.start(parcel, { id: 'p-stream', via: 'hand' }, { id: 'p-stream' })
    await aws.dynamodb.send(new PutItemCommand({ TableName: outputs.ParcelTableName, Item: { id: { S: 'p-stream' } } }))
    await eventually('it is cancelled', async () => (await client.get('p-stream')).status === 'cancelled')
    // The event that carries the reason is 'run.cancelled' where the cancel came before the run's first step.
    expect(await client.history('p-stream')).toContainEqual(expect.objectContaining({ reason: 'item was: INSERT' }))
    // Whoever comes later finds the run ended: people are told.
    await aws.dynamodb.send(
      new DeleteItemCommand({ TableName: outputs.ParcelTableName, Key: { id: { S: 'p-stream' } } }),
    )
    const letter = await letterWith('subscription', 'cancel-on-ParcelTable')
    expect(letter.MessageAttributes!.reason!.StringValue).toBe("run 'p-stream' has already ended (cancelled)")
  })

  it('that were set aside can be sent again, once they are mended', async () => {
    const { aws, outputs } = deployment
    const id = await queued('{"parcel":"p-again"}')
    const letter = JSON.parse((await letterWith('eventId', id)).Body!) as { body: { parcel: string } }
    const mended = { ...letter, body: { id: letter.body.parcel } }
    const functions = new LambdaFunctions(new SignedFetch(aws.dynamodb))
    const answer = await functions.invoke(outputs.ParcelQueueFunction, mended as Json, {
      idempotencyKey: id,
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    expect(answer).toEqual({ state: 'taken', taken: { kind: 'start', runId: 'p-again', created: true } })
  })
})

/** There is no client for SNS here, and this is all that is asked of one. */
async function publish(TopicArn: string, message: object): Promise<void> {
  const body = new URLSearchParams({
    Action: 'Publish',
    Version: '2010-03-31',
    TopicArn,
    Message: JSON.stringify(message),
  }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const sign = sigv4({ credentials: ownCredentials(), service: 'sns', region })
  const request = new Request(process.env.AWS_ENDPOINT_URL!, { method: 'POST', body, headers })
  const { ok, status } = await fetch(await sign(request))
  expect(ok, `SNS answered with ${status}`).toBe(true)
}
