import {
  type CancellationReason,
  IdempotentParameterMismatchException,
  type TransactGetItemsInput,
  type TransactGetItemsOutput,
  TransactionCanceledException,
  type TransactWriteItem,
  type TransactWriteItemsInput,
} from '@aws-sdk/client-dynamodb'
import type { Clock } from '../../../../sdk/ports/world.ts'
import { invalid, METADATA } from '../errors.ts'
import type { Attributes } from '../values/attribute-value.ts'
import { itemSize } from '../values/size.ts'
import { getItem } from './get.ts'
import { keyText, type Table } from './table.ts'
import { type PlannedWrite, planCheck, planDelete, planPut, planUpdate } from './write.ts'

const MOST_ITEMS = 100
const MOST_BYTES = 4 * 1_048_576
const TOKEN_LASTS_MS = 600_000

type TableOf = (name: string | undefined) => Table
interface Part {
  table: Table
  write: PlannedWrite
}

/** All or nothing; a token makes a repeated transaction a success that does nothing. */
export class Transactions {
  private readonly clock: Clock
  private readonly tableOf: TableOf
  private readonly conflicts: () => boolean
  private readonly done = new Map<string, { at: number; request: string }>()

  constructor(clock: Clock, tableOf: TableOf, conflicts: () => boolean) {
    this.clock = clock
    this.tableOf = tableOf
    this.conflicts = conflicts
  }

  write({ TransactItems = [], ClientRequestToken: token }: TransactWriteItemsInput): object {
    refuseNumber(TransactItems.length)
    const request = JSON.stringify(TransactItems)
    if (token !== undefined && this.isDone(token, request)) return {}
    const parts = TransactItems.map((item) => this.plan(item))
    refuseSameItem(parts)
    const states = parts.map(({ table, write }) => ({ table, write, old: table.read(write.key, 0)?.item }))
    const outcomes = states.map(({ write, old }) => outcomeOf(write, old))
    // One of them is in other hands.
    if (this.conflicts())
      outcomes[0] = { reason: { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' } }
    if (outcomes.some(({ reason }) => reason)) throw cancelled(outcomes.map(({ reason }) => reason ?? { Code: 'None' }))
    const bytes = outcomes.reduce((sum, { next }) => sum + (next ? itemSize(next) : 0), 0)
    if (bytes > MOST_BYTES) throw invalid(`Transaction payload size cannot exceed 4MB. Payload Size: ${bytes}`)
    for (const [i, { table, write, old }] of states.entries())
      if (outcomes[i]!.next !== old) table.write(write.key, outcomes[i]!.next)
    if (token !== undefined) this.done.set(token, { at: this.clock.now(), request })
    return {}
  }

  get({ TransactItems = [] }: TransactGetItemsInput): TransactGetItemsOutput {
    refuseNumber(TransactItems.length)
    if (this.conflicts()) {
      throw cancelled(
        TransactItems.map((_, i) =>
          i === 0 ? { Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' } : { Code: 'None' },
        ),
      )
    }
    return {
      Responses: TransactItems.map(({ Get }) =>
        getItem(this.tableOf(Get!.TableName), { ...Get!, ConsistentRead: true }),
      ),
    }
  }

  private isDone(token: string, request: string): boolean {
    const before = this.done.get(token)
    if (!before || before.at + TOKEN_LASTS_MS < this.clock.now()) return false
    if (before.request === request) return true
    throw new IdempotentParameterMismatchException({
      message: 'The same token was used for another transaction',
      $metadata: METADATA,
    })
  }

  private plan({ Put, Update, Delete, ConditionCheck }: TransactWriteItem): Part {
    const one = Put ?? Update ?? Delete ?? ConditionCheck
    if (!one) throw invalid('TransactItems can only contain one of Check, Put, Update or Delete')
    const table = this.tableOf(one.TableName)
    if (Put) return { table, write: planPut(table, { ...Put }) }
    if (Update) return { table, write: planUpdate(table, { ...Update }) }
    return { table, write: Delete ? planDelete(table, { ...Delete }) : planCheck(table, { ...ConditionCheck! }) }
  }
}

function outcomeOf(
  write: PlannedWrite,
  old: Attributes | undefined,
): { next?: Attributes | undefined; reason?: CancellationReason } {
  if (!write.accepts(old)) {
    return {
      reason: {
        Code: 'ConditionalCheckFailed',
        Message: 'The conditional request failed',
        ...(write.showsOld && old && { Item: old }),
      },
    }
  }
  try {
    return { next: write.next(old) }
  } catch (error) {
    return { reason: { Code: 'ValidationError', Message: (error as Error).message } }
  }
}

function cancelled(CancellationReasons: CancellationReason[]): TransactionCanceledException {
  const codes = CancellationReasons.map(({ Code }) => Code).join(', ')
  return new TransactionCanceledException({
    message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    CancellationReasons,
    $metadata: METADATA,
  })
}

function refuseNumber(count: number): void {
  if (count > MOST_ITEMS) throw invalid(`Member must have length less than or equal to ${MOST_ITEMS}`)
  if (count < 1)
    throw invalid(
      "Value [] at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
    )
}

function refuseSameItem(parts: Part[]): void {
  const keys = parts.map(
    ({ table: { schema }, write: { key } }) =>
      `${schema.name}\n${keyText(key[schema.partition]!)}\n${keyText(key[schema.sort]!)}`,
  )
  if (new Set(keys).size < keys.length)
    throw invalid('Transaction request cannot include multiple operations on one item')
}
