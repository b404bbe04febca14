import type { CreateTableCommandInput, KeySchemaElement } from '@aws-sdk/client-dynamodb'
import type { KeySchema } from '../expressions/key-condition.ts'

export interface TableSchema extends KeySchema {
  name: string
  indexes: IndexSchema[]
}

export interface IndexSchema extends KeySchema {
  name: string
  /** The attributes it holds; undefined for all of them. */
  attributes: ReadonlySet<string> | undefined
}

/** What CreateTable makes of its input. Every table and index here has a sort key. */
export function schemaOf(input: CreateTableCommandInput): TableSchema {
  const types = Object.fromEntries(
    (input.AttributeDefinitions ?? []).map((one) => [one.AttributeName!, one.AttributeType!]),
  )
  const keys = keysOf(input.KeySchema!, types)
  const indexes = (input.GlobalSecondaryIndexes ?? []).map((index): IndexSchema => {
    const own = keysOf(index.KeySchema!, types)
    const { ProjectionType, NonKeyAttributes = [] } = index.Projection!
    const attributes = new Set([keys.partition, keys.sort, own.partition, own.sort, ...NonKeyAttributes])
    return { ...own, name: index.IndexName!, attributes: ProjectionType === 'ALL' ? undefined : attributes }
  })
  return { ...keys, name: input.TableName!, indexes }
}

function keysOf(elements: KeySchemaElement[], types: Record<string, string>): KeySchema {
  const of = (type: 'HASH' | 'RANGE') => elements.find(({ KeyType }) => KeyType === type)!.AttributeName!
  return { partition: of('HASH'), sort: of('RANGE'), types }
}
