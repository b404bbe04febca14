import type { GetItemInput, GetItemOutput } from '@aws-sdk/client-dynamodb'
import { type Placeholders, refusePlaceholders, Scope } from '../expressions/placeholders.ts'
import { bindProjection, project } from '../expressions/projection.ts'
import type { Attributes } from '../values/attribute-value.ts'
import { checkedKey } from './item-checks.ts'
import type { Table } from './table.ts'

export function getItem(table: Table, input: GetItemInput): GetItemOutput {
  const show = projector(input)
  const version = table.read(checkedKey(table.schema, input.Key), table.lag(input.ConsistentRead))
  table.charge(version?.size ?? 0, input.ConsistentRead)
  return version?.item ? { Item: show(version.item) } : {}
}

/** What a request wants to see of each item. */
export function projector(
  input: Placeholders & { ProjectionExpression?: string | undefined },
): (item: Attributes) => Attributes {
  if (input.ProjectionExpression === undefined) {
    refusePlaceholders(input, ['ProjectionExpression'])
    return (item) => item
  }
  const scope = new Scope(input)
  const paths = bindProjection(input.ProjectionExpression, scope)
  scope.refuseUnused()
  return (item) => project(item, paths)
}
