import { QueryCommand } from '@aws-sdk/lib-dynamodb'
import type { Aws } from './context.ts'
import { type Expression, namesAndValues } from './expressions.ts'
import { runIdOf, SHARDS } from './keys.ts'

/** One partition of an index, or of the table, whose entries stand for runs. */
export interface Partition {
  index: 'due' | 'list' | 'table'
  value: string
  filter?: Expression
}

/** The shards of something that is spread over several partitions. */
export function shardsOf(index: Partition['index'], prefix: string, filter?: Expression, shards = SHARDS): Partition[] {
  return Array.from({ length: shards }, (_, shard) => ({
    index,
    value: `${prefix}${shard}`,
    ...(filter && { filter }),
  }))
}

export interface Range {
  from: string
  to: string
  newestFirst: boolean
  pageSize: number
}

/** How many entries may be read. Entries that a filter drops are read and paid for too. */
export interface Budget {
  left: number
  /** Where reading stopped early: everything on this side of it was read. */
  stoppedAt?: string
}

export interface IndexEntry {
  pk: string
  runId: string
  /** The sort key of the item that this entry belongs to. */
  sk: string
  /** The sort key. */
  at: string
}

/**
 * The entries of all these partitions as one sequence, read as far as the caller iterates or the
 * budget lasts.
 */
export async function* merge(
  aws: Aws,
  partitions: readonly Partition[],
  range: Range,
  budget: Budget,
): AsyncGenerator<IndexEntry> {
  const readers = partitions.map((partition) => new Reader(aws, partition, range))
  for (;;) {
    const hungry = readers.filter((reader) => reader.wantsPage)
    if (hungry.length > 0 && budget.left > 0) {
      await Promise.all(hungry.map((reader) => reader.nextPage(budget)))
      continue
    }
    // Reading stops here. Entries of other partitions before this point are still returned: the
    // next page would skip them.
    if (hungry.length > 0)
      budget.stoppedAt = hungry.map(({ readTo }) => readTo).reduce((a, b) => (comesBefore(a, b, range) ? a : b))
    let first: Reader | undefined
    for (const reader of readers)
      if (reader.head && (!first || comesBefore(reader.head.at, first.head!.at, range))) first = reader
    if (!first || (budget.stoppedAt !== undefined && comesBefore(budget.stoppedAt, first.head!.at, range))) return
    const entry = first.take()
    // A run may have entries in two of them.
    for (const reader of readers) if (reader.head?.at === entry.at && reader.head.runId === entry.runId) reader.take()
    yield entry
  }
}

/** Groups the entries, so that their runs can be read in batches. */
export async function* inChunks(entries: AsyncIterable<IndexEntry>, size: number): AsyncGenerator<IndexEntry[]> {
  let chunk: IndexEntry[] = []
  for await (const entry of entries) {
    chunk.push(entry)
    if (chunk.length < size) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

const comesBefore = (a: string, b: string, { newestFirst }: Range): boolean => (newestFirst ? a > b : a < b)

const KEYS = { due: ['dueShard', 'dueKey'], list: ['listShard', 'listKey'], table: ['pk', 'sk'] } as const

class Reader {
  private readonly aws: Aws
  private readonly partition: Partition
  private readonly range: Range
  private entries: IndexEntry[] = []
  private start: Record<string, unknown> | undefined
  private isRead = false
  /** The last key read, whether or not it passed the filter. */
  readTo: string

  constructor(aws: Aws, partition: Partition, range: Range) {
    this.aws = aws
    this.partition = partition
    this.range = range
    this.readTo = range.newestFirst ? range.to : range.from
  }

  get head(): IndexEntry | undefined {
    return this.entries[0]
  }

  get wantsPage(): boolean {
    return this.entries.length === 0 && !this.isRead
  }

  take(): IndexEntry {
    return this.entries.shift()!
  }

  async nextPage(budget: Budget): Promise<void> {
    const { index, value, filter } = this.partition
    const { from, to, newestFirst, pageSize } = this.range
    const [partitionKey, sortKey] = KEYS[index]
    const keys: Expression = {
      text: `#${partitionKey} = :shard AND #${sortKey} BETWEEN :from AND :to`,
      values: { ':shard': value, ':from': from, ':to': to },
    }
    const page = await this.aws.db.send(
      new QueryCommand({
        TableName: this.aws.table,
        ...(index !== 'table' && { IndexName: index }),
        KeyConditionExpression: keys.text,
        ...(filter && { FilterExpression: filter.text }),
        ...namesAndValues(keys, filter),
        ScanIndexForward: !newestFirst,
        Limit: pageSize,
        ExclusiveStartKey: this.start,
      }),
    )
    budget.left -= page.ScannedCount ?? page.Items?.length ?? 0
    this.entries = (page.Items ?? []).map((item) => ({
      pk: item.pk as string,
      runId: (item.runId as string | undefined) ?? runIdOf(item.pk as string),
      at: item[sortKey] as string,
      sk: item.sk as string,
    }))
    this.start = page.LastEvaluatedKey
    this.isRead = this.start === undefined
    if (this.start) this.readTo = this.start[sortKey] as string
  }
}
