import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  ResourceNotFoundException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb'
import { SchedulerClient } from '@aws-sdk/client-scheduler'
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  MessageNotInflight,
  ReceiptHandleIsInvalid,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../../sdk/worlds/aws/table.ts'
import { AwsInMemory } from './aws-in-memory.ts'
import { marshallInput, unmarshallOutput } from './document-commands.ts'

const TableName = 'runs'
const Key = { pk: 'p', sk: 's' }
/** New each time: the SDK writes its own defaults into them. */
const options = () => ({ marshallOptions: { removeUndefinedValues: true } })

function setUp() {
  const clock = new VirtualClock(0)
  const aws = new AwsInMemory({ seed: 'clients', clock })
  aws.createTable(createTableInput(TableName), { timeToLive: TABLE.timeToLive })
  const queue = aws.sqs.createQueue('queue')
  const clients = aws.clientsOf(aws.network('test'))
  return { clock, aws, queue, ...clients, db: DynamoDBDocumentClient.from(clients.dynamodb, options()) }
}

const values = {
  n: 1,
  list: [1, { x: 'y' }],
  nothing: undefined,
  inside: { nothing: undefined, set: new Set(['a']) },
  bytes: new Uint8Array([1, 2]),
  nil: null,
}
const COMMANDS = [
  new GetCommand({ TableName, Key }),
  new PutCommand({
    TableName,
    Item: { ...Key, ...values },
    ConditionExpression: 'a = :a',
    ExpressionAttributeValues: { ':a': values },
  }),
  new UpdateCommand({
    TableName,
    Key,
    UpdateExpression: 'SET a = :a',
    ExpressionAttributeValues: { ':a': [values], ':b': undefined },
  }),
  new DeleteCommand({ TableName, Key, ExpressionAttributeValues: { ':a': null } }),
  new QueryCommand({ TableName, ExclusiveStartKey: Key, ExpressionAttributeValues: { ':a': 'x' } }),
  new BatchGetCommand({ RequestItems: { [TableName]: { Keys: [Key, Key], ConsistentRead: true } } }),
  new BatchWriteCommand({
    RequestItems: { [TableName]: [{ PutRequest: { Item: { ...Key, ...values } } }, { DeleteRequest: { Key } }] },
  }),
  new TransactGetCommand({ TransactItems: [{ Get: { TableName, Key } }] }),
  new TransactWriteCommand({
    TransactItems: [
      { Put: { TableName, Item: { ...Key, ...values } } },
      { Update: { TableName, Key, UpdateExpression: 'SET a = :a', ExpressionAttributeValues: { ':a': values } } },
      { Delete: { TableName, Key } },
      { ConditionCheck: { TableName, Key, ConditionExpression: 'a = :a', ExpressionAttributeValues: { ':a': 1 } } },
    ],
  }),
]
const item = { pk: { S: 'p' }, m: { M: { n: { N: '1' } } }, b: { B: new Uint8Array([1]) } }
const OUTPUT = {
  Item: item,
  Items: [item],
  Attributes: item,
  LastEvaluatedKey: item,
  Responses: { [TableName]: [item] },
  UnprocessedKeys: { [TableName]: { Keys: [item] } },
  UnprocessedItems: { [TableName]: [{ PutRequest: { Item: item } }] },
}

/** What the SDK itself makes of a document command: the client is real up to where an answer would be read from the wire. */
async function throughTheSdk(
  command: (typeof COMMANDS)[number],
  answer: object,
): Promise<{ input: unknown; output: unknown }> {
  const client = new DynamoDBClient({
    region: 'memory-1',
    endpoint: 'http://in.memory',
    credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
  })
  let input: unknown
  const see = (next: (args: never) => unknown) => (args: never) => {
    input = (args as { input: unknown }).input
    return next(args)
  }
  client.middlewareStack.add(see as never, { step: 'build', name: 'seeInput' })
  client.middlewareStack.remove('deserializerMiddleware')
  const cut = () => async () => ({ response: {}, output: { $metadata: {}, ...answer } })
  client.middlewareStack.add(cut as never, { step: 'deserialize', name: 'deserializerMiddleware' })
  const { $metadata: _, ...output } = await DynamoDBDocumentClient.from(client, options()).send(command as never)
  return { input, output }
}

describe('a client', () => {
  it("is one of the SDK's, whatever it answers from", () => {
    const { dynamodb, sqs, scheduler } = setUp()
    expect(dynamodb).toBeInstanceOf(DynamoDBClient)
    expect(sqs).toBeInstanceOf(SQSClient)
    expect(scheduler).toBeInstanceOf(SchedulerClient)
  })

  it('settles on microtasks alone', async () => {
    const { db } = setUp()
    let isDone = false
    void db.send(new PutCommand({ TableName, Item: Key })).then(() => {
      isDone = true
    })
    for (let hop = 0; hop < 30; hop++) await undefined
    expect(isDone).toBe(true)
  })

  it('can send the same command again', async () => {
    const { db } = setUp()
    const put = new PutCommand({ TableName, Item: { ...Key, n: 1 } })
    await db.send(put)
    await db.send(put)
    expect((await db.send(new GetCommand({ TableName, Key }))).Item).toEqual({ ...Key, n: 1 })
  })

  it('says which command it does not know', async () => {
    const { dynamodb } = setUp()
    const { ListTablesCommand } = await import('@aws-sdk/client-dynamodb')
    await expect(dynamodb.send(new ListTablesCommand({}))).rejects.toThrow('ListTablesCommand')
  })
})

describe('document commands', () => {
  it.each(COMMANDS.map((command) => [command.constructor.name, command] as const))(
    '%s is marshalled as the SDK does it',
    async (_, command) => {
      const name = (command as unknown as { clientCommand: object }).clientCommand.constructor.name
      const given = structuredClone({ ...command.input })
      const answer = name === 'TransactGetItemsCommand' ? { Responses: [{ Item: item }] } : OUTPUT
      const { input, output } = await throughTheSdk(command, answer)
      expect(marshallInput(name, given, options())).toEqual(input)
      expect(unmarshallOutput(name, answer, options())).toEqual(output)
    },
  )
})

describe('errors', () => {
  it("of DynamoDB are the SDK's, with the old item marshalled", async () => {
    const { db } = setUp()
    const put = { TableName, Item: { ...Key, n: 1 } }
    await db.send(new PutCommand(put))
    const again = {
      ...put,
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    }
    const refused = await db.send(new PutCommand(again)).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ConditionalCheckFailedException)
    expect(unmarshall((refused as ConditionalCheckFailedException).Item!)).toEqual(put.Item)
    const unasked = await db
      .send(new PutCommand({ ...again, ReturnValuesOnConditionCheckFailure: 'NONE' }))
      .catch((error: unknown) => error)
    expect((unasked as ConditionalCheckFailedException).Item).toBeUndefined()
    await expect(db.send(new TransactWriteCommand({ TransactItems: [{ Put: again }] }))).rejects.toBeInstanceOf(
      TransactionCanceledException,
    )
    await expect(db.send(new GetCommand({ TableName: 'nowhere', Key }))).rejects.toBeInstanceOf(
      ResourceNotFoundException,
    )
    await expect(db.send(new GetCommand({ TableName, Key: { pk: 1 } }))).rejects.toMatchObject({
      name: 'ValidationException',
      $fault: 'client',
    })
  })

  it("of SQS are the SDK's", async () => {
    const { clock, sqs, queue } = setUp()
    const QueueUrl = queue.url
    await expect(sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: 'x' }))).rejects.toBeInstanceOf(
      ReceiptHandleIsInvalid,
    )
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'a' }))
    const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout: 1 }))
    const { ReceiptHandle } = Messages![0]!
    clock.moveTo(1_000)
    await expect(
      sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 5 })),
    ).rejects.toBeInstanceOf(MessageNotInflight)
  })
})

describe('a batch of messages', () => {
  it('takes the entries that are in order and names the others', async () => {
    const { sqs, queue } = setUp()
    const Entries = [
      { Id: 'good', MessageBody: 'a' },
      { Id: 'late', MessageBody: 'b', DelaySeconds: 901 },
    ]
    const answer = await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }))
    expect(answer).toMatchObject({
      Successful: [{ Id: 'good' }],
      Failed: [{ Id: 'late', SenderFault: true, Code: 'InvalidParameterValue' }],
    })
    expect(queue.contents.map(({ body }) => body)).toEqual(['a'])
  })

  it('has at most ten of them, each with an id of its own', async () => {
    const { sqs, queue } = setUp()
    const send = (ids: string[]) =>
      sqs.send(
        new SendMessageBatchCommand({ QueueUrl: queue.url, Entries: ids.map((Id) => ({ Id, MessageBody: 'a' })) }),
      )
    await expect(send(Array.from({ length: 11 }, (_, i) => `${i}`))).rejects.toMatchObject({
      name: 'TooManyEntriesInBatchRequest',
    })
    await expect(send(['1', '1'])).rejects.toMatchObject({ name: 'BatchEntryIdsNotDistinct' })
    await expect(send([])).rejects.toMatchObject({ name: 'EmptyBatchRequest' })
  })
})
