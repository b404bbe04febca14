import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { Aws } from './context.ts'
import { type Expression, namesAndValues } from './expressions.ts'
import type { Key } from './keys.ts'

/**
 * A conditional write, and the item as it stood if the condition did not hold: losing a race costs no second read.
 *
 * The SDK sends a call again when its answer got lost. The first attempt may have been carried out, and then the
 * second is refused because of the first. So whoever writes leaves a token of its own in the item, and takes a
 * refusal that shows this token for the success it is.
 */
export type Written<T> = { ok: true; item: T } | { ok: false; old: T | undefined }

export async function putIf<T extends Key>(aws: Aws, item: T, condition: Expression): Promise<Written<T>> {
  return refusalAsValue(async () => {
    await aws.db.send(
      new PutCommand({
        TableName: aws.table,
        Item: item,
        ConditionExpression: condition.text,
        ...namesAndValues(condition),
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    )
    return item
  })
}

/** Returns the item as it is afterwards. */
export async function updateIf<T>(aws: Aws, key: Key, update: Expression, condition: Expression): Promise<Written<T>> {
  return refusalAsValue(async () => {
    const { Attributes } = await aws.db.send(
      new UpdateCommand({
        TableName: aws.table,
        Key: key,
        UpdateExpression: update.text,
        ConditionExpression: condition.text,
        ...namesAndValues(update, condition),
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    )
    return Attributes as T
  })
}

async function refusalAsValue<T>(write: () => Promise<T>): Promise<Written<T>> {
  try {
    return { ok: true, item: await write() }
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error
    return { ok: false, old: error.Item && (unmarshall(error.Item) as T) }
  }
}
