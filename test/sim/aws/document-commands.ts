import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  type DynamoDBDocumentClientCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactGetCommand,
  TransactWriteCommand,
  type TranslateConfig,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { marshall, type marshallOptions, unmarshall, type unmarshallOptions } from '@aws-sdk/util-dynamodb'

/**
 * The document client marshals in the `serialize` step and unmarshals in the `deserialize` step. A middleware in the
 * `initialize` step comes before both: it sees plain values and must return plain values. So it does the same itself,
 * along the very tables by which the document commands say where their values are.
 */

/** Null: a value. No members: all that is inside are values. `*`: go on in every member. */
type KeyNodes = null | { [member: string]: KeyNodes }
interface Nodes {
  inputKeyNodes: KeyNodes
  outputKeyNodes: KeyNodes
}

const nodesOf = (command: DynamoDBDocumentClientCommand<never, never, never, never, never>): Nodes =>
  command as unknown as Nodes
const Key = { pk: '' }
const one = { TableName: '', Key }

const NODES: Record<string, Nodes> = {
  GetItemCommand: nodesOf(new GetCommand(one) as never),
  PutItemCommand: nodesOf(new PutCommand({ TableName: '', Item: Key }) as never),
  UpdateItemCommand: nodesOf(new UpdateCommand(one) as never),
  DeleteItemCommand: nodesOf(new DeleteCommand(one) as never),
  QueryCommand: nodesOf(new QueryCommand({ TableName: '' }) as never),
  BatchGetItemCommand: nodesOf(new BatchGetCommand({ RequestItems: {} }) as never),
  BatchWriteItemCommand: nodesOf(new BatchWriteCommand({ RequestItems: {} }) as never),
  TransactWriteItemsCommand: nodesOf(new TransactWriteCommand({ TransactItems: [] }) as never),
  TransactGetItemsCommand: nodesOf(new TransactGetCommand({ TransactItems: [] }) as never),
}

/**
 * Whether a command came through a document client: it has put its marshalling into the command's own stack. Taking it
 * out is the only way to see it there; the stack is resolved by now, and filled anew when the command is sent again.
 */
export function isDocumentCommand(command: { middlewareStack: { remove(name: string): boolean } }): boolean {
  return command.middlewareStack.remove('DocumentMarshall')
}

export function marshallInput(commandName: string, input: object, config: TranslateConfig | undefined): object {
  const options: marshallOptions = { convertTopLevelContainer: true, ...config?.marshallOptions }
  return translate(input, NODES[commandName]!.inputKeyNodes, (value) => marshall(value as never, options)) as object
}

export function unmarshallOutput(commandName: string, output: object, config: TranslateConfig | undefined): object {
  const options: unmarshallOptions = { convertWithoutMapWrapper: true, ...config?.unmarshallOptions }
  return translate(output, NODES[commandName]!.outputKeyNodes, (value) => unmarshall(value as never, options)) as object
}

function translate(value: unknown, nodes: KeyNodes, convert: (value: unknown) => unknown): unknown {
  if (value === undefined) return undefined
  if (nodes === null) return convert(value)
  const members = Object.keys(nodes)
  const everywhere = members.length === 0 ? null : members.length === 1 && members[0] === '*' ? nodes['*']! : undefined
  if (everywhere === undefined) {
    const copy: Record<string, unknown> = { ...(value as object) }
    for (const member of members)
      if (copy[member] !== undefined) copy[member] = translate(copy[member], nodes[member]!, convert)
    return copy
  }
  if (Array.isArray(value)) return value.map((member) => translate(member, everywhere, convert))
  const copy: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value as object)) {
    const converted = translate(member, everywhere, convert)
    if (converted !== undefined) copy[name] = converted
  }
  return copy
}
