import {
  type AttributeValue,
  type ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb'
import { type Attributes, type Case, KEY, PARTITION } from './case.ts'

/** What came of a case, in a form that JSON can hold. */
export interface Answer {
  error?: { name: string; message: string; old?: unknown }
  output?: unknown
  /** The partition afterwards, where it has changed. */
  after?: unknown
}

/** Plays a case on whatever is behind the client: DynamoDB Local when it is recorded, the table in memory ever after. */
export async function play(client: DynamoDBClient, table: string, one: Case): Promise<Answer> {
  await clear(client, table)
  const before = one.items
    ? Object.entries(one.items).map(([sk, rest]) => ({ ...KEY, sk: { S: sk }, ...rest }))
    : one.item
      ? [{ ...KEY, ...one.item }]
      : []
  for (const Item of before) await client.send(new PutItemCommand({ TableName: table, Item }))
  const stood = await partition(client, table)
  const answer: Answer = {}
  try {
    // DynamoDB Local tells the price of deleting nothing, unasked.
    const { $metadata: _, ConsumedCapacity: __, ...output } = await send(client, table, one)
    answer.output = plain(output)
  } catch (error) {
    const { name, message, Item } = error as ConditionalCheckFailedException
    answer.error = { name, message, ...(Item && { old: plain(Item) }) }
  }
  const after = await partition(client, table)
  if (JSON.stringify(plain(after)) !== JSON.stringify(plain(stood))) answer.after = plain(after)
  return answer
}

function send(
  client: DynamoDBClient,
  table: string,
  one: Case,
): Promise<{ $metadata: object; ConsumedCapacity?: unknown }> {
  const common = {
    TableName: table,
    ...(one.names && { ExpressionAttributeNames: one.names }),
    ...(one.values && { ExpressionAttributeValues: one.values }),
    ...one.request,
  }
  const write = {
    ...common,
    ...(one.condition !== undefined && {
      ConditionExpression: one.condition,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    }),
    ...(one.returns && { ReturnValues: one.returns }),
  }
  const projection = one.projection !== undefined && { ProjectionExpression: one.projection }
  switch (one.call) {
    case 'get':
      return client.send(new GetItemCommand({ Key: KEY, ConsistentRead: true, ...projection, ...common }))
    case 'put':
      return client.send(new PutItemCommand({ Item: { ...KEY, ...one.put }, ...write }))
    case 'update':
      return client.send(
        new UpdateItemCommand({
          Key: KEY,
          ...(one.update !== undefined && { UpdateExpression: one.update }),
          ...write,
        }),
      )
    case 'delete':
      return client.send(new DeleteItemCommand({ Key: KEY, ...write }))
    case 'query':
      return client.send(
        new QueryCommand({
          ...(one.keys !== undefined && { KeyConditionExpression: one.keys }),
          ...(one.filter !== undefined && { FilterExpression: one.filter }),
          ...projection,
          ...common,
        }),
      )
  }
}

async function partition(client: DynamoDBClient, table: string): Promise<Attributes[]> {
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName: table,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: PARTITION } },
      ConsistentRead: true,
    }),
  )
  return Items
}

async function clear(client: DynamoDBClient, table: string): Promise<void> {
  for (const { pk, sk } of await partition(client, table))
    await client.send(new DeleteItemCommand({ TableName: table, Key: { pk: pk!, sk: sk! } }))
}

/** Long texts by their length, bytes as text, sets and maps sorted: their order means nothing. */
function plain(value: unknown): unknown {
  if (typeof value === 'string') return value.length > 500 ? `${value.length} characters` : value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const sorted = Object.entries(value as Record<string, AttributeValue>)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(
    sorted.map(([name, member]) => [name, /^[SNB]S$/.test(name) ? (plain(member) as string[]).sort() : plain(member)]),
  )
}
