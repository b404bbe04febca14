import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import * as lib from '@aws-sdk/lib-dynamodb'
import { expect, test } from 'vitest'
import { marshall, unmarshall } from '../../functions/small-attributes.ts'
import * as small from '../../functions/small-documents.ts'
import { fakeServer } from '../cli/fake-server.ts'

const TableName = 't'
const Key = { pk: 'RUN#1', sk: 'RUN' }
const attributes = {
  pk: { S: 'RUN#1' },
  sk: { S: 'RUN' },
  n: { N: '1.5' },
  bytes: { B: 'AQID' },
  list: { L: [{ M: { x: { NULL: true } } }] },
}

/** What the AWS world asks, and what DynamoDB answers. */
const CALLS: [command: keyof typeof small & keyof typeof lib, input: object, answer: object][] = [
  ['GetCommand', { TableName, Key, ConsistentRead: true }, { Item: attributes }],
  ['GetCommand', { TableName, Key }, {}],
  [
    'PutCommand',
    {
      TableName,
      Item: { ...Key, gone: undefined, bytes: new Uint8Array([1, 2, 3]), deep: { list: [1, null, 'ü'], flag: true } },
      ConditionExpression: '#a = :a',
      ExpressionAttributeNames: { '#a': 'Key' },
      ExpressionAttributeValues: { ':a': 1 },
    },
    {},
  ],
  [
    'UpdateCommand',
    {
      TableName,
      Key,
      UpdateExpression: 'SET #a = :a',
      ExpressionAttributeNames: { '#a': 'a' },
      ExpressionAttributeValues: { ':a': ['x', 2] },
      ReturnValues: 'ALL_NEW',
    },
    { Attributes: attributes },
  ],
  ['DeleteCommand', { TableName, Key, ConditionExpression: 'attribute_exists(pk)' }, {}],
  [
    'QueryCommand',
    {
      TableName,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': 'p' },
      ExclusiveStartKey: Key,
      Limit: 3,
    },
    {
      Items: [attributes, attributes],
      LastEvaluatedKey: { pk: { S: 'a' }, sk: { S: 'b' } },
      Count: 2,
      ScannedCount: 5,
    },
  ],
  [
    'QueryCommand',
    {
      TableName,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': 'p' },
      ExclusiveStartKey: undefined,
    },
    { Items: [], Count: 0 },
  ],
  [
    'BatchGetCommand',
    { RequestItems: { [TableName]: { Keys: [Key, { ...Key, sk: 'F' }] } } },
    {
      Responses: { [TableName]: [attributes] },
      UnprocessedKeys: { [TableName]: { Keys: [{ pk: { S: 'RUN#1' }, sk: { S: 'F' } }] } },
    },
  ],
  [
    'BatchWriteCommand',
    { RequestItems: { [TableName]: [{ DeleteRequest: { Key } }, { PutRequest: { Item: { ...Key, a: 1 } } }] } },
    { UnprocessedItems: { [TableName]: [{ DeleteRequest: { Key: { pk: { S: 'RUN#1' }, sk: { S: 'RUN' } } } }] } },
  ],
]

test.each(CALLS)('%s is sent as the SDK sends it, and gives the same back', async (command, input, answer) => {
  await using server = await fakeServer(() => ({ body: JSON.stringify(answer) }))
  const client = new DynamoDBClient({
    endpoint: server.url,
    region: 'eu-north-1',
    credentials: { accessKeyId: 'A', secretAccessKey: 'B' },
  })
  const send = async (module: typeof small | typeof lib) => {
    // biome-ignore lint/suspicious/noExplicitAny: two modules with the same names
    const { DynamoDBDocumentClient, [command]: Command } = module as any
    const { $metadata: _, ...output } = await DynamoDBDocumentClient.from(client, {
      marshallOptions: { removeUndefinedValues: true },
    }).send(new Command(input))
    return output
  }
  expect(await send(small)).toEqual(await send(lib))
  const [ours, theirs] = server.asked.map(({ request, body }) => [request.headers['x-amz-target'], JSON.parse(body)])
  expect(ours).toEqual(theirs)
})

test('what is no plain data is not made an attribute of', () => {
  for (const value of [() => 1, Symbol('x'), 1n]) expect(() => marshall({ value })).toThrow(/an item cannot hold a/)
  expect(() => unmarshall({ value: { SS: ['a'] } })).toThrow('no attribute of the kind SS')
})

test('a write that is refused is told of as the SDK tells of it', async () => {
  const refusal = {
    __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException',
    message: 'no',
    Item: attributes,
  }
  await using server = await fakeServer(() => ({ status: 400, body: JSON.stringify(refusal) }))
  const client = new DynamoDBClient({
    endpoint: server.url,
    region: 'eu-north-1',
    credentials: { accessKeyId: 'A', secretAccessKey: 'B' },
  })
  const refused = (send: Promise<unknown>) => send.then(String, ({ name, message, Item }) => ({ name, message, Item }))
  const ours = await refused(
    small.DynamoDBDocumentClient.from(client).send(new small.PutCommand({ TableName, Item: Key })),
  )
  expect(ours).toEqual(
    await refused(lib.DynamoDBDocumentClient.from(client).send(new lib.PutCommand({ TableName, Item: Key }))),
  )
})
