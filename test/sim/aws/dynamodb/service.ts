import {
  type BatchGetItemInput,
  type BatchWriteItemInput,
  ConditionalCheckFailedException,
  type CreateTableCommandInput,
  type DeleteItemInput,
  type GetItemInput,
  type PutItemInput,
  type QueryCommandInput,
  ResourceNotFoundException,
  type TransactGetItemsInput,
  type TransactWriteItemsInput,
  type UpdateItemInput,
} from '@aws-sdk/client-dynamodb'
import type { Clock } from '../../../../sdk/ports/world.ts'
import type { Chance } from '../chance.ts'
import { METADATA } from '../errors.ts'
import { batchGet, batchWrite } from './batches.ts'
import { getItem } from './get.ts'
import { type DynamoDbHabits, PROMPT_DYNAMODB } from './habits.ts'
import { query } from './query.ts'
import { schemaOf } from './schema.ts'
import { Table } from './table.ts'
import { Transactions } from './transactions.ts'
import { type PlannedWrite, planDelete, planPut, planUpdate } from './write.ts'

/** DynamoDB in memory. Inputs and outputs are those of the commands, with marshalled values. Every call is one instant. */
export class DynamoDb {
  private readonly clock: Clock
  private readonly chance: Chance
  private readonly habits: DynamoDbHabits
  private readonly tables = new Map<string, Table>()
  private readonly transactions: Transactions
  /** Writes whose condition did not hold. DynamoDB charges for them. */
  refusedWrites = 0

  constructor(clock: Clock, chance: Chance, habits: Partial<DynamoDbHabits> = {}) {
    this.clock = clock
    this.chance = chance
    this.habits = { ...PROMPT_DYNAMODB, ...habits }
    this.transactions = new Transactions(
      clock,
      (name) => this.table(name),
      () => chance.strikes(this.habits.transactionConflict),
    )
  }

  createTable(input: CreateTableCommandInput, options: { timeToLive: string }): Table {
    const table = new Table(schemaOf(input), options.timeToLive, this.clock, this.chance, this.habits)
    this.tables.set(input.TableName!, table)
    return table
  }

  table(name: string | undefined): Table {
    const table = this.tables.get(name ?? '')
    if (!table) throw new ResourceNotFoundException({ message: 'Requested resource not found', $metadata: METADATA })
    return table
  }

  readonly commands = {
    GetItemCommand: (input: GetItemInput) => getItem(this.table(input.TableName), input),
    PutItemCommand: (input: PutItemInput) => this.write(this.table(input.TableName), (table) => planPut(table, input)),
    UpdateItemCommand: (input: UpdateItemInput) =>
      this.write(this.table(input.TableName), (table) => planUpdate(table, input)),
    DeleteItemCommand: (input: DeleteItemInput) =>
      this.write(this.table(input.TableName), (table) => planDelete(table, input)),
    QueryCommand: (input: QueryCommandInput) => query(this.table(input.TableName), input),
    BatchGetItemCommand: (input: BatchGetItemInput) => batchGet(input, (name) => this.table(name), this.isLeft),
    BatchWriteItemCommand: (input: BatchWriteItemInput) => batchWrite(input, (name) => this.table(name), this.isLeft),
    TransactWriteItemsCommand: (input: TransactWriteItemsInput) => this.transactions.write(input),
    TransactGetItemsCommand: (input: TransactGetItemsInput) => this.transactions.get(input),
  }

  private readonly isLeft = (): boolean => this.chance.strikes(this.habits.unprocessed)

  private write(table: Table, plan: (table: Table) => PlannedWrite): object {
    const write = plan(table)
    const old = table.read(write.key, 0)?.item
    if (!write.accepts(old)) {
      const Item = write.showsOld && old ? { Item: old } : {}
      this.refusedWrites++
      throw new ConditionalCheckFailedException({
        message: 'The conditional request failed',
        $metadata: METADATA,
        ...Item,
      })
    }
    const next = write.next(old)
    if (next !== old) table.write(write.key, next)
    const Attributes = write.returned(old, next)
    return Attributes ? { Attributes } : {}
  }
}
