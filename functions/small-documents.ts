import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand as QueryItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from './small-attributes.ts'

/**
 * In the bundles this stands in for `@aws-sdk/lib-dynamodb`, as far as the AWS world uses it: seven commands whose items are plain objects. It knows which fields hold
 * items by their names, instead of by a list for each command. Only our own code gets it (`imports` in package.json).
 */

type Fields = Record<string, unknown>
type Translate = (item: Fields) => Fields

/** Fields that are one item, or the values of one. */
const ITEM = /^(?:Item|Key|Attributes|ExpressionAttributeValues|ExclusiveStartKey|LastEvaluatedKey)$/
/** Fields that are lists of items, where they are not names of attributes. */
const ITEMS = /^(?:Items|Keys)$/
/** What a batch asks for, got, or did not get to, by table. */
const BATCH = /^(?:RequestItems|Responses|Unprocessed(?:Keys|Items))$/

function translated(fields: Fields, translate: Translate): Fields {
  return mapped(fields, (name, value) => {
    if (value === undefined) return value
    if (ITEM.test(name)) return translate(value as Fields)
    if (ITEMS.test(name)) return (value as Fields[]).map(translate)
    if (BATCH.test(name)) return mapped(value as Fields, (_table, part) => ofTable(name, part, translate))
    return value
  })
}

/** `{ Keys }` of what is asked for, `[{ PutRequest | DeleteRequest }]` of what is written, and items of what came. */
function ofTable(name: string, part: unknown, translate: Translate): unknown {
  if (!Array.isArray(part)) return translated(part as Fields, translate)
  if (name === 'Responses') return part.map(translate)
  return part.map((write: Fields) => mapped(write, (_kind, request) => translated(request as Fields, translate)))
}

const mapped = (fields: Fields, map: (name: string, value: unknown) => unknown): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(name, value)]))

type Native = new (input: never) => object

abstract class Command {
  abstract readonly native: Native
  readonly input: Fields

  constructor(input: Fields) {
    this.input = input
  }
}

const commandFor = (native: Native) =>
  class extends Command {
    readonly native = native
  }

export const GetCommand = commandFor(GetItemCommand)
export const PutCommand = commandFor(PutItemCommand)
export const UpdateCommand = commandFor(UpdateItemCommand)
export const DeleteCommand = commandFor(DeleteItemCommand)
export const QueryCommand = commandFor(QueryItemsCommand)
export const BatchGetCommand = commandFor(BatchGetItemCommand)
export const BatchWriteCommand = commandFor(BatchWriteItemCommand)

export class DynamoDBDocumentClient {
  private readonly client: DynamoDBClient

  private constructor(client: DynamoDBClient) {
    this.client = client
  }

  static from(client: DynamoDBClient): DynamoDBDocumentClient {
    return new DynamoDBDocumentClient(client)
  }

  async send({ native, input }: Command, options?: object): Promise<Fields> {
    const command = new native(translated(input, marshall) as never)
    return translated(
      (await this.client.send(command as GetItemCommand, options)) as unknown as Fields,
      unmarshall as Translate,
    )
  }
}
