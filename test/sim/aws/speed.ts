import { DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../../sdk/worlds/aws/table.ts'
import { AwsInMemory } from './aws-in-memory.ts'

/** The processor time of a simulated call, the SDK's own part included: node --conditions=overwinter-source test/sim/aws/speed.ts */
const aws = new AwsInMemory({ seed: 'speed', clock: new VirtualClock(0) })
aws.createTable(createTableInput('runs'), { timeToLive: TABLE.timeToLive })
const db = DynamoDBDocumentClient.from(aws.clientsOf(aws.network('speed')).dynamodb, {
  marshallOptions: { removeUndefinedValues: true },
})
const TableName = 'runs'
const key = (i: number) => ({ pk: `RUN#${i % 500}`, sk: 'RUN' })
const run = {
  workflow: 'order',
  version: 1,
  status: 'pending',
  epoch: 0,
  stimulus: 0,
  secret: 'x'.repeat(32),
  createdAt: 1_767_225_600_000,
  wakeAt: 1_767_225_600_000,
}

const CALLS: Record<string, (i: number) => Promise<unknown>> = {
  'PutItem with condition': (i) =>
    db.send(
      new PutCommand({
        TableName,
        Item: {
          ...key(i),
          ...run,
          dueShard: 'DUE#1',
          dueKey: `${i % 500}`,
          listShard: 'LIST#1',
          listKey: `${i % 500}`,
        },
        ConditionExpression: '(attribute_not_exists(#pk)) OR (#ttl <= :now) OR (#epoch >= :zero)',
        ExpressionAttributeNames: { '#pk': 'pk', '#ttl': 'ttl', '#epoch': 'epoch' },
        ExpressionAttributeValues: { ':now': 5, ':zero': 0 },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    ),
  UpdateItem: (i) =>
    db.send(
      new UpdateCommand({
        TableName,
        Key: key(i),
        UpdateExpression:
          'SET #status = :running, #epoch = #epoch + :one, #claims = if_not_exists(#claims, :zero) + :one REMOVE #waitingFor',
        ConditionExpression: '(attribute_exists(#pk)) AND (attribute_not_exists(#endedAt)) AND (#wakeAt <= :now)',
        ExpressionAttributeNames: {
          '#pk': 'pk',
          '#status': 'status',
          '#epoch': 'epoch',
          '#claims': 'claims',
          '#waitingFor': 'waitingFor',
          '#endedAt': 'endedAt',
          '#wakeAt': 'wakeAt',
        },
        ExpressionAttributeValues: { ':running': 'running', ':one': 1, ':zero': 0, ':now': 1_767_225_600_001 },
        ReturnValues: 'ALL_NEW',
      }),
    ),
  GetItem: (i) => db.send(new GetCommand({ TableName, Key: key(i), ConsistentRead: true })),
}

const COUNT = 10_000
for (const [name, call] of Object.entries(CALLS)) {
  for (let i = 0; i < COUNT / 5; i++) await call(i)
  const begin = process.cpuUsage()
  for (let i = 0; i < COUNT; i++) await call(i)
  const { user, system } = process.cpuUsage(begin)
  console.log(`${name}: ${((user + system) / COUNT).toFixed(1)} µs`)
}
