import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'

/** The least that a function on DynamoDB can be. */
const dynamodb = new DynamoDBClient()

export async function handler(): Promise<object> {
  const { Item } = await dynamodb.send(
    new GetItemCommand({ TableName: process.env.OVERWINTER_TABLE, Key: { pk: { S: 'a' }, sk: { S: 'b' } } }),
  )
  return { found: Item !== undefined }
}
