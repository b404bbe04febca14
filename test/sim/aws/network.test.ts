import { ConditionalCheckFailedException, ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb'
import { CreateScheduleCommand, ThrottlingException } from '@aws-sdk/client-scheduler'
import { RequestThrottled, SendMessageCommand } from '@aws-sdk/client-sqs'
import { DynamoDBDocumentClient, TransactWriteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../../sdk/worlds/aws/table.ts'
import { AwsInMemory } from './aws-in-memory.ts'
import type { Attempt, Fate, Outcome } from './network.ts'
import { passTime } from './pass-time.ts'

const Key = { pk: 'p', sk: 's' }
const TableName = 'runs'

function setUp(fateOf: (attempt: Attempt) => Fate) {
  const clock = new VirtualClock(0)
  const aws = new AwsInMemory({ seed: 'network', clock })
  const table = aws.createTable(createTableInput(TableName), { timeToLive: TABLE.timeToLive })
  const queue = aws.sqs.createQueue('queue')
  const attempts: Attempt[] = []
  const network = aws.network('process 1', (attempt) => {
    attempts.push(attempt)
    return fateOf(attempt)
  })
  const { dynamodb, sqs, scheduler } = aws.clientsOf(network)
  const db = DynamoDBDocumentClient.from(dynamodb)
  const count = () =>
    db.send(
      new UpdateCommand({ TableName, Key, UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': 1 } }),
    )
  const counted = () => Number([...table.items()][0]?.item.n?.N ?? 0)
  return { clock, aws, queue, attempts, network, db, sqs, scheduler, count, counted }
}

/** The first attempts have these fates, all later ones are done. */
const first =
  (...outcomes: Outcome[]) =>
  ({ attempt }: Attempt): Fate => ({ outcome: outcomes[attempt - 1] ?? 'done' })

/** What has become of a promise by the time everything has come to rest. */
function outcomeOf(promise: Promise<unknown>): { state: 'pending' | 'fulfilled' | 'rejected'; error?: unknown } {
  const outcome: ReturnType<typeof outcomeOf> = { state: 'pending' }
  promise.then(
    () => {
      outcome.state = 'fulfilled'
    },
    (error: unknown) => {
      outcome.state = 'rejected'
      outcome.error = error
    },
  )
  return outcome
}

describe('an attempt', () => {
  it('that is throttled or lost has changed nothing, and is repeated', async () => {
    const { clock, count, counted, attempts } = setUp(first('throttled', 'lost'))
    const call = outcomeOf(count())
    await passTime(clock, 60_000)
    expect(call.state).toBe('fulfilled')
    expect(counted()).toBe(1)
    expect(attempts.map(({ call: number, attempt }) => [number, attempt])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
    ])
    expect(attempts[0]).toMatchObject({ process: 'process 1', service: 'dynamodb', command: 'UpdateItemCommand' })
  })

  it('whose answer is lost was carried out, and its repetition is carried out again', async () => {
    const { clock, count, counted } = setUp(first('answer lost'))
    const call = outcomeOf(count())
    await passTime(clock, 60_000)
    expect(call.state).toBe('fulfilled')
    expect(counted()).toBe(2)
  })

  it('whose answer is lost may make its repetition fail', async () => {
    const { clock, db } = setUp(first('answer lost'))
    const call = outcomeOf(
      db.send(
        new UpdateCommand({
          TableName,
          Key,
          UpdateExpression: 'SET n = :v',
          ConditionExpression: 'attribute_not_exists(pk)',
          ExpressionAttributeValues: { ':v': 1 },
        }),
      ),
    )
    await passTime(clock, 60_000)
    expect(call.error).toBeInstanceOf(ConditionalCheckFailedException)
  })

  it('of a transaction or a new schedule brings the token of the first: its repetition does nothing and succeeds', async () => {
    const { clock, db, counted, scheduler, aws, queue } = setUp(first('answer lost'))
    const add = { TableName, Key, UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': 1 } }
    const transaction = outcomeOf(db.send(new TransactWriteCommand({ TransactItems: [{ Update: add }] })))
    const Target = { Arn: queue.arn, RoleArn: 'role', Input: 'x' }
    const schedule = outcomeOf(
      scheduler.send(
        new CreateScheduleCommand({
          Name: 'a',
          ScheduleExpression: 'at(1970-01-02T00:00:00)',
          FlexibleTimeWindow: { Mode: 'OFF' },
          Target,
        }),
      ),
    )
    await passTime(clock, 60_000)
    expect([transaction.state, schedule.state]).toEqual(['fulfilled', 'fulfilled'])
    expect(counted()).toBe(1)
    expect(aws.scheduler.contents).toHaveLength(1)
  })

  it('takes the time it is given, each way', async () => {
    const { clock, count, counted } = setUp(() => ({ outcome: 'done', thereMs: 100, backMs: 50 }))
    const call = outcomeOf(count())
    await passTime(clock, 99)
    expect(counted()).toBe(0)
    await passTime(clock, 1)
    expect([counted(), call.state]).toEqual([1, 'pending'])
    await passTime(clock, 50)
    expect(call.state).toBe('fulfilled')
  })
})

describe('a call', () => {
  it("fails with the service's own error once eight attempts were throttled", async () => {
    const { clock, count, sqs, scheduler, queue, attempts } = setUp(() => ({ outcome: 'throttled' }))
    const calls = [
      outcomeOf(count()),
      outcomeOf(sqs.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: 'x' }))),
      outcomeOf(
        scheduler.send(
          new CreateScheduleCommand({
            Name: 'a',
            ScheduleExpression: 'at(1970-01-02T00:00:00)',
            FlexibleTimeWindow: undefined,
            Target: undefined,
          }),
        ),
      ),
    ]
    await passTime(clock, 600_000)
    expect(calls[0]!.error).toBeInstanceOf(ProvisionedThroughputExceededException)
    expect(calls[1]!.error).toBeInstanceOf(RequestThrottled)
    expect(calls[2]!.error).toBeInstanceOf(ThrottlingException)
    expect(attempts).toHaveLength(24)
    expect(queue.contents).toEqual([])
  })

  it('that never gets an answer times out, and may have been carried out eight times', async () => {
    const { clock, count, counted } = setUp(() => ({ outcome: 'answer lost' }))
    const call = outcomeOf(count())
    await passTime(clock, 600_000)
    expect(call.error).toMatchObject({ name: 'TimeoutError' })
    expect(counted()).toBe(8)
  })
})

describe('a process', () => {
  it('that dies hears nothing any more, whether its call was carried out or not', async () => {
    for (const [outcome, done] of [
      ['dies before', 0],
      ['dies after', 1],
    ] as const) {
      const { clock, count, counted, network } = setUp(first(outcome))
      const calls = [outcomeOf(count()), outcomeOf(count())]
      await passTime(clock, 600_000)
      expect(calls.map(({ state }) => state)).toEqual(['pending', 'pending'])
      expect(counted()).toBe(done)
      expect(network.isAlive).toBe(false)
    }
  })

  it('that is killed loses the answers that are under way', async () => {
    const { clock, count, counted, network } = setUp(() => ({ outcome: 'done', thereMs: 10, backMs: 10 }))
    const call = outcomeOf(count())
    await passTime(clock, 15)
    network.kill()
    await passTime(clock, 600_000)
    expect([counted(), call.state]).toEqual([1, 'pending'])
  })

  it('has a clock that may be wrong, stands still for it while it is frozen, and stops with it', async () => {
    const { clock, network } = setUp(first())
    const own = network.clock(5_000)
    const fired: number[] = []
    expect(own.now()).toBe(5_000)
    own.at(6_000, () => fired.push(clock.now()))
    own.at(8_000, () => fired.push(clock.now()))
    own.at(90_000, () => fired.push(clock.now()))
    own.at(7_000, () => fired.push(clock.now()))()
    await passTime(clock, 1_500)
    network.freezeUntil(60_000)
    await passTime(clock, 60_000)
    network.kill()
    await passTime(clock, 600_000)
    expect(fired).toEqual([1_000, 60_000])
  })

  it('that is frozen sends and hears nothing until it thaws', async () => {
    const { clock, count, counted, network } = setUp(() => ({ outcome: 'done', backMs: 10 }))
    const before = outcomeOf(count())
    network.freezeUntil(60_000)
    const during = outcomeOf(count())
    await passTime(clock, 59_999)
    expect([counted(), before.state, during.state]).toEqual([1, 'pending', 'pending'])
    await passTime(clock, 11)
    expect([counted(), before.state, during.state]).toEqual([2, 'fulfilled', 'fulfilled'])
  })
})
