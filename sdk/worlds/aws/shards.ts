import { QueryCommand } from '@aws-sdk/lib-dynamodb'
import type { Aws } from './context.ts'
import { type Expression, namesAndValues } from './expressions.ts'
import { runIdOf, SHARDS } from './keys.ts'

export interface IndexRange {
  index: 'due' | 'list'
  /** What the partition keys begin with; the shard's number follows. */
  prefix: string
  from: string
  to: string
  newestFirst: boolean
  filter?: Expression
  pageSize: number
}

export interface IndexEntry {
  runId: string
  /** The sort key. */
  at: string
}

/** The entries of all shards of an index as one sequence, read as far as the reader goes. */
export async function* mergeShards(aws: Aws, range: IndexRange): AsyncGenerator<IndexEntry> {
  const shards = Array.from({ length: SHARDS }, (_, number) => new Shard(aws, range, number))
  for (;;) {
    await Promise.all(shards.filter((shard) => shard.wantsPage).map((shard) => shard.nextPage()))
    let first: Shard | undefined
    for (const shard of shards) if (shard.head && (!first || comesBefore(shard.head, first.head!, range))) first = shard
    if (!first) return
    while (first.head && !shards.some((other) => other !== first && other.head && comesBefore(other.head, first!.head!, range))) yield first.take()
  }
}

/** So that what the entries stand for can be read in batches. */
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

function comesBefore(a: IndexEntry, b: IndexEntry, { newestFirst }: IndexRange): boolean {
  return newestFirst ? a.at > b.at : a.at < b.at
}

class Shard {
  private readonly aws: Aws
  private readonly range: IndexRange
  private readonly number: number
  private entries: IndexEntry[] = []
  private start: Record<string, unknown> | undefined
  private isRead = false

  constructor(aws: Aws, range: IndexRange, number: number) {
    this.aws = aws
    this.range = range
    this.number = number
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

  /** Reads on until there is an entry: a filter can empty whole pages. */
  async nextPage(): Promise<void> {
    const { index, prefix, from, to, newestFirst, filter, pageSize } = this.range
    const keys: Expression = {
      text: `#${index}Shard = :shard AND #${index}Key BETWEEN :from AND :to`,
      values: { ':shard': `${prefix}${this.number}`, ':from': from, ':to': to },
    }
    while (this.wantsPage) {
      const page = await this.aws.db.send(
        new QueryCommand({
          TableName: this.aws.table,
          IndexName: index,
          KeyConditionExpression: keys.text,
          ...(filter && { FilterExpression: filter.text }),
          ...namesAndValues(keys, filter),
          ScanIndexForward: !newestFirst,
          Limit: pageSize,
          ExclusiveStartKey: this.start,
        }),
      )
      this.entries = (page.Items ?? []).map((item) => ({ runId: runIdOf(item.pk as string), at: item[`${index}Key`] as string }))
      this.start = page.LastEvaluatedKey
      this.isRead = this.start === undefined
    }
  }
}
