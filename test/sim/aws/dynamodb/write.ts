import type { ReturnValue, ReturnValuesOnConditionCheckFailure } from '@aws-sdk/client-dynamodb'
import { invalid } from '../errors.ts'
import { type BoundCondition, bindCondition, holds } from '../expressions/condition.ts'
import { type Placeholders, refusePlaceholders, Scope } from '../expressions/placeholders.ts'
import { applyUpdate, atPathsOf, type BoundUpdate, bindUpdate, touched } from '../expressions/update.ts'
import type { Attributes } from '../values/attribute-value.ts'
import { itemSize } from '../values/size.ts'
import { checkedItem, checkedKey, checkUpdatedIndexKeys, MOST_ITEM_BYTES } from './item-checks.ts'
import type { Table } from './table.ts'

/** The members that PutItem, UpdateItem, DeleteItem and the parts of a transaction have in common. */
export interface WriteInput extends Placeholders {
  ConditionExpression?: string | undefined
  ReturnValues?: ReturnValue | undefined
  ReturnValuesOnConditionCheckFailure?: ReturnValuesOnConditionCheckFailure | undefined
}
export type PutInput = WriteInput & { Item: Attributes | undefined }
export type KeyedInput = WriteInput & { Key: Attributes | undefined }
export type UpdateInput = KeyedInput & { UpdateExpression?: string | undefined }

/** A write that is checked as far as it can be without the item, and then asked what it makes of it. */
export interface PlannedWrite {
  key: Attributes
  accepts(old: Attributes | undefined): boolean
  /** The item afterwards; undefined where it is gone. */
  next(old: Attributes | undefined): Attributes | undefined
  /** What the call returns as `Attributes`. */
  returned(old: Attributes | undefined, next: Attributes | undefined): Attributes | undefined
  showsOld: boolean
}

export function planPut(table: Table, input: PutInput): PlannedWrite {
  const condition = conditionOf(input)
  if (!['NONE', 'ALL_OLD', undefined].includes(input.ReturnValues)) throw invalid('Return values set to invalid value')
  const item = checkedItem(table.schema, input.Item ?? {})
  if (itemSize(item) > MOST_ITEM_BYTES) throw invalid('Item size has exceeded the maximum allowed size')
  return plan(input, item, condition, () => item)
}

export function planDelete(table: Table, input: KeyedInput): PlannedWrite {
  const condition = conditionOf(input)
  return plan(input, checkedKey(table.schema, input.Key), condition, () => undefined)
}

/** A part of a transaction that only looks. */
export function planCheck(table: Table, input: KeyedInput): PlannedWrite {
  const condition = conditionOf(input)
  return plan(input, checkedKey(table.schema, input.Key), condition, (old) => old)
}

export function planUpdate(table: Table, input: UpdateInput): PlannedWrite {
  const { schema } = table
  const { UpdateExpression, ConditionExpression } = input
  if (UpdateExpression === undefined && ConditionExpression === undefined)
    refusePlaceholders(input, ['UpdateExpression', 'ConditionExpression'])
  const scope = new Scope(input)
  const update =
    UpdateExpression === undefined ? undefined : bindUpdate(UpdateExpression, scope, [schema.partition, schema.sort])
  const condition =
    ConditionExpression === undefined ? undefined : bindCondition('ConditionExpression', ConditionExpression, scope)
  scope.refuseUnused()
  const key = checkedKey(schema, input.Key)
  const names = update ? touched(update) : new Set<string>()
  const planned = plan(input, key, condition, (old) => updated(table, update, names, old ?? key))
  return { ...planned, returned: (old, next) => ofUpdate(input.ReturnValues, update, old, next) }
}

function plan(
  input: WriteInput,
  key: Attributes,
  condition: BoundCondition | undefined,
  next: (old: Attributes | undefined) => Attributes | undefined,
): PlannedWrite {
  return {
    key,
    accepts: (old) => !condition || holds(condition, old),
    next,
    returned: (old) => (input.ReturnValues === 'ALL_OLD' ? old : undefined),
    showsOld: input.ReturnValuesOnConditionCheckFailure === 'ALL_OLD',
  }
}

function updated(
  table: Table,
  update: BoundUpdate | undefined,
  names: ReadonlySet<string>,
  old: Attributes,
): Attributes {
  if (!update) return old
  const next = applyUpdate(update, old)
  checkUpdatedIndexKeys(table.schema, next, names)
  if (itemSize(next) > MOST_ITEM_BYTES) throw invalid('Item size to update has exceeded the maximum allowed size')
  return next
}

function ofUpdate(
  returns: ReturnValue | undefined,
  update: BoundUpdate | undefined,
  old: Attributes | undefined,
  next: Attributes | undefined,
): Attributes | undefined {
  if (returns === 'ALL_OLD') return old
  if (returns === 'ALL_NEW') return next
  if (returns !== 'UPDATED_OLD' && returns !== 'UPDATED_NEW') return undefined
  const item = (returns === 'UPDATED_OLD' ? old : next) ?? {}
  const found = update ? atPathsOf(update, item) : {}
  return Object.keys(found).length === 0 ? undefined : found
}

function conditionOf(input: WriteInput): BoundCondition | undefined {
  if (input.ConditionExpression === undefined) {
    refusePlaceholders(input, ['ConditionExpression'])
    return undefined
  }
  const scope = new Scope(input)
  const condition = bindCondition('ConditionExpression', input.ConditionExpression, scope)
  scope.refuseUnused()
  return condition
}
