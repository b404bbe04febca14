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
 * Replaces `@aws-sdk/lib-dynamodb` in the bundles, as far as the AWS world uses it: seven commands whose
 * items are plain objects. It finds the fields with items by their names, not by a list for each command.
 * Only our own code gets it (`imports` in package.json).
 */

type Fields = Record<string, unknown>
type Translate = (item: Fields) => Fields

/** Fields that hold one item, or its values. */
const ITEM = /^(?:Item|Key|Attributes|ExpressionAttributeValues|ExclusiveStartKey|LastEvaluatedKey)$/
/** Fields that hold lists of items, unless they are attribute names. */
const ITEMS = /^(?:Items|Keys)$/
/** The requested, returned or unprocessed part of a batch, by table. */
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

/** `{ Keys }` of a read, `[{ PutRequest | DeleteRequest }]` of a write, and items of an answer. */
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
