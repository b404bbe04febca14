/**
 * The one table, for the code that creates it: the tests through the SDK, deployments through the
 * CDK construct. On demand, because idle runs should cost nothing but storage.
 */
export const TABLE = {
  partitionKey: 'pk',
  sortKey: 'sk',
  timeToLive: 'ttl',
  indexes: [
    /** Sparse: a run is in it while a wake-up is expected, or while it is in trouble. */
    { name: 'due', partitionKey: 'dueShard', sortKey: 'dueKey', include: undefined },
    /** Only attributes that never change are projected, so that no change of a run writes to this index. */
    { name: 'list', partitionKey: 'listShard', sortKey: 'listKey', include: ['workflow', 'tags'] },
  ],
} as const

/** The same as the input of CreateTable. Every key is a string. */
export function createTableInput(tableName: string) {
  const keys = [TABLE, ...TABLE.indexes].flatMap(({ partitionKey, sortKey }) => [partitionKey, sortKey])
  return {
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST' as const,
    AttributeDefinitions: keys.map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const })),
    KeySchema: keySchema(TABLE),
    GlobalSecondaryIndexes: TABLE.indexes.map((index) => ({
      IndexName: index.name,
      KeySchema: keySchema(index),
      Projection: index.include
        ? { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: [...index.include] }
        : { ProjectionType: 'KEYS_ONLY' as const },
    })),
  }
}

function keySchema({ partitionKey, sortKey }: { partitionKey: string; sortKey: string }) {
  return [
    { AttributeName: partitionKey, KeyType: 'HASH' as const },
    { AttributeName: sortKey, KeyType: 'RANGE' as const },
  ]
}
