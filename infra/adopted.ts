import { Stack } from 'aws-cdk-lib'
import { type CfnGlobalTable, type ITableV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { TABLE } from '../sdk/worlds/aws/table.ts'
import type { OverwinterProps } from './options.ts'

const INDEXES = TABLE.indexes.map(({ name }) => name)

/** An existing table is used unchanged, so its requirements are checked here, not by the first run. */
export function checkAdopted({ table, lifecycleEvents }: OverwinterProps): void {
  if (!table) return
  const missing = table instanceof TableV2 ? missingOf(table) : hasIndexes(table) ? [] : INDEXES
  if (missing.length > 0) {
    const names = missing.map((name) => `'${name}'`).join(' and ')
    const remedy =
      table instanceof TableV2
        ? 'Leave table out, and the construct creates one that fits; or add them, as TABLE in the sources of ' +
          'overwinter has them'
        : 'If it has them, say so: TableV2.fromTableAttributes(scope, id, { tableName, globalIndexes: ' +
          `[${INDEXES.map((name) => `'${name}'`).join(', ')}] })`
    throw new Error(`table: nothing is known of the indexes ${names}, without which no run would be found. ${remedy}`)
  }
  if (lifecycleEvents && !table.tableStreamArn) {
    throw new Error(
      'table: nothing is known of its stream, from which lifecycleEvents are made. Give tableStreamArn to ' +
        'TableV2.fromTableAttributes (a stream of new and old images), or leave lifecycleEvents out',
    )
  }
}

/** For an imported table CDK knows only whether there are any indexes. */
const hasIndexes = (table: ITableV2): boolean => (table as unknown as { hasIndex?: boolean }).hasIndex === true

function missingOf(table: TableV2): string[] {
  const { globalSecondaryIndexes } = table.node.defaultChild as CfnGlobalTable
  const there = (Stack.of(table).resolve(globalSecondaryIndexes) ?? []) as { indexName: string }[]
  return INDEXES.filter((name) => !there.some(({ indexName }) => indexName === name))
}
