import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb'
import type { AwsClients } from '../../sdk/worlds/aws/clients.ts'
import { awsClients } from '../../test/aws/clients.ts'
import { type Item, readUnits, refusedWriteUnits, writeUnits } from './units.ts'

export interface Bill {
  writeUnits: number
  readUnits: number
  /** Calls to SQS, and to EventBridge Scheduler. */
  sqs: number
  scheduler: number
  /** Times that something was waited for, one after another: calls that are under way together count as one. */
  roundTrips: number
}

/**
 * Counts what the calls of a set of clients cost. Each write is looked at before and after through clients of its own,
 * so that what is counted is the item as it really came to be.
 */
export class Meter {
  bill: Bill = emptyBill()
  /** One line per call, for whoever wonders where the units go. */
  lines: string[] = []
  private underWay = 0
  private readonly observer = awsClients()
  private readonly db = DynamoDBDocumentClient.from(this.observer.dynamodb)

  install(clients: AwsClients): void {
    clients.dynamodb.middlewareStack.add(
      (next, { commandName }) =>
        async (args) => {
          const call = DYNAMODB[String(commandName)]
          if (!call) throw new Error(`the meter does not know what ${commandName} costs`)
          return this.trip(() => call(this, args.input as never, () => next(args))) as ReturnType<typeof next>
        },
      { step: 'initialize', name: 'meter', priority: 'high' },
    )
    for (const service of ['sqs', 'scheduler'] as const) {
      const client = clients[service] as AwsClients['sqs']
      client.middlewareStack.add(
        (next, { commandName }) =>
          (args) => {
            this.bill[service]++
            this.lines.push(`${commandName}`)
            return this.trip(() => next(args))
          },
        { step: 'initialize', name: 'meter', priority: 'high' },
      )
    }
  }

  async trip<T>(call: () => Promise<T>): Promise<T> {
    if (this.underWay++ === 0) this.bill.roundTrips++
    try {
      return await call()
    } finally {
      this.underWay--
    }
  }

  reset(): void {
    this.bill = emptyBill()
    this.lines = []
  }

  close(): void {
    for (const client of Object.values(this.observer) as { destroy(): void }[]) client.destroy()
  }

  async write<T>(what: string, TableName: string, Key: Item, carryOut: () => Promise<T>): Promise<T> {
    const before = await this.look(TableName, Key)
    try {
      const result = await carryOut()
      this.count('writeUnits', writeUnits(before, await this.look(TableName, Key)), what, Key)
      return result
    } catch (error) {
      this.count('writeUnits', refusedWriteUnits(before), `${what}, refused`, Key)
      throw error
    }
  }

  count(kind: 'writeUnits' | 'readUnits', units: number, what: string, key: Item): void {
    this.bill[kind] += units
    this.lines.push(`${what} ${key.sk ?? ''}: ${units} ${kind}`)
  }

  private async look(TableName: string, Key: Item): Promise<Item | undefined> {
    return (await this.db.send(new GetCommand({ TableName, Key, ConsistentRead: true }))).Item
  }
}

interface Input {
  TableName: string
  Key: Item
  Item: Item
  ConsistentRead?: boolean
  ProjectionExpression?: string
}

interface Answer {
  output: { Item?: Item; Items?: Item[] }
}

/** Every command that the hot path uses; one it should not use is an error. */
const DYNAMODB: Record<string, (meter: Meter, input: Input, carryOut: () => Promise<unknown>) => Promise<unknown>> = {
  PutItemCommand: (meter, { TableName, Item }, carryOut) =>
    meter.write('put', TableName, { pk: Item.pk, sk: Item.sk }, carryOut),
  UpdateItemCommand: (meter, { TableName, Key }, carryOut) => meter.write('update', TableName, Key, carryOut),
  DeleteItemCommand: (meter, { TableName, Key }, carryOut) => meter.write('delete', TableName, Key, carryOut),
  GetItemCommand: async (meter, { Key, ConsistentRead }, carryOut) => {
    const answer = (await carryOut()) as Answer
    meter.count(
      'readUnits',
      readUnits(answer.output.Item ? [answer.output.Item] : [], ConsistentRead === true),
      'get',
      Key,
    )
    return answer
  },
  // Each item is rounded up by itself.
  BatchGetItemCommand: async (meter, _input, carryOut) => {
    const answer = (await carryOut()) as { output: { Responses?: Record<string, Item[]> } }
    for (const item of Object.values(answer.output.Responses ?? {}).flat())
      meter.count('readUnits', readUnits([item], false), 'get', item)
    return answer
  },
  QueryCommand: async (meter, { ConsistentRead, ProjectionExpression }, carryOut) => {
    if (ProjectionExpression)
      throw new Error('a projected Query is billed by what it does not return; the meter cannot see that')
    const answer = (await carryOut()) as Answer
    meter.count('readUnits', readUnits(answer.output.Items ?? [], ConsistentRead === true), 'query', {})
    return answer
  },
}

const emptyBill = (): Bill => ({ writeUnits: 0, readUnits: 0, sqs: 0, scheduler: 0, roundTrips: 0 })
