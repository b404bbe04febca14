import { CreateScheduleCommand } from '@aws-sdk/client-scheduler'
import { SendMessageCommand } from '@aws-sdk/client-sqs'
import { DynamoDBDocumentClient, GetCommand, QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { SeededRandom } from '../../../sdk/base/random.ts'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../../sdk/worlds/aws/table.ts'
import { AwsInMemory, MOODY } from './aws-in-memory.ts'
import type { Fate, Outcome } from './network.ts'
import { passTime } from './pass-time.ts'

const OUTCOMES: Outcome[] = ['done', 'done', 'done', 'done', 'throttled', 'lost', 'answer lost']
const TableName = 'runs'

/** Many processes at once that write, read, send and schedule, under everything that can go wrong; what all of them saw, in order. */
async function play(seed: string): Promise<string[]> {
  const clock = new VirtualClock(0)
  const aws = new AwsInMemory({ seed, clock, habits: MOODY })
  const table = aws.createTable(createTableInput(TableName), { timeToLive: TABLE.timeToLive })
  const queue = aws.sqs.createQueue('queue', { maxReceiveCount: 4, deadLetters: aws.sqs.createQueue('dead') })
  const random = new SeededRandom(`fates of ${seed}`)
  const seen: string[] = []
  const fateOf = (): Fate => ({
    outcome: OUTCOMES[Math.floor(random.next() * OUTCOMES.length)]!,
    thereMs: Math.floor(random.next() * 50),
    backMs: Math.floor(random.next() * 50),
  })
  let processes = 0
  const run = async (work: string): Promise<void> => {
    const name = `process ${++processes}`
    const { dynamodb, sqs, scheduler } = aws.clientsOf(aws.network(name, fateOf))
    const db = DynamoDBDocumentClient.from(dynamodb)
    const say = (what: unknown) => seen.push(`${clock.now()} ${name} ${work} ${JSON.stringify(what)}`)
    const Key = { pk: `p${processes % 3}`, sk: 's' }
    const ExpressionAttributeValues = {
      ':one': 1,
      ':shard': 'LIST#0',
      ':key': name,
      ':ttl': Math.ceil(clock.now() / 1_000) + 60,
    }
    const UpdateExpression = 'SET listShard = :shard, listKey = :key, #ttl = :ttl ADD n :one'
    const update = {
      TableName,
      Key,
      UpdateExpression,
      ExpressionAttributeValues,
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ReturnValues: 'ALL_NEW' as const,
    }
    say((await db.send(new UpdateCommand(update))).Attributes)
    say((await db.send(new GetCommand({ TableName, Key }))).Item)
    const list = {
      TableName,
      IndexName: 'list',
      KeyConditionExpression: 'listShard = :s',
      ExpressionAttributeValues: { ':s': 'LIST#0' },
    }
    say((await db.send(new QueryCommand(list))).Items)
    if (processes > 60) return
    await sqs.send(
      new SendMessageCommand({ QueueUrl: queue.url, MessageBody: `from ${name}`, DelaySeconds: processes % 5 }),
    )
    const ScheduleExpression = `at(${new Date(clock.now() + 900_000).toISOString().slice(0, 19)})`
    const Target = { Arn: queue.arn, RoleArn: 'role', Input: `scheduled by ${name}` }
    await scheduler.send(
      new CreateScheduleCommand({
        Name: name.replace(' ', '-'),
        ScheduleExpression,
        FlexibleTimeWindow: { Mode: 'OFF' },
        Target,
      }),
    )
  }
  aws.eventSource(queue, {
    batchSize: 3,
    maxConcurrency: 4,
    timeoutMs: 20_000,
    throttled: 0.1,
    handler: async (messages) => {
      await Promise.all(messages.map(({ body }) => run(body)))
      return []
    },
  })
  await Promise.race([Promise.allSettled([run('a'), run('b'), run('c')]), passTime(clock, 3_600_000)])
  await passTime(clock, 3_600_000)
  seen.push(JSON.stringify([...table.items()]))
  return seen
}

describe('AWS in memory', () => {
  it('does the same for the same seed, to the last call, and something else for another', async () => {
    const once = await play('one')
    expect(once.length).toBeGreaterThan(100)
    expect(await play('one')).toEqual(once)
    expect(await play('two')).not.toEqual(once)
  })
})
