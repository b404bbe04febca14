import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Chance } from '../chance.ts'
import { DueHeap } from '../due-heap.ts'
import type { Attributes } from '../values/attribute-value.ts'
import { areEqual, compareValues } from '../values/compare.ts'
import { itemSize } from '../values/size.ts'
import type { DynamoDbHabits } from './habits.ts'
import type { IndexSchema, TableSchema } from './schema.ts'
import { Sorted } from './sorted.ts'
import { keyText } from './table.ts'

export interface Entry {
  item: Attributes
  size: number
}

interface Change {
  of: string
  entry: Entry | undefined
}

/** A global secondary index: it follows the table, in order for each item, and late. */
export class LateIndex {
  readonly schema: IndexSchema
  private readonly table: TableSchema
  private readonly chance: Chance
  private readonly habits: DynamoDbHabits
  private readonly partitions = new Map<string, Sorted<Entry>>()
  /** The entry of each item, by the item's key. */
  private readonly shown = new Map<string, Entry>()
  private readonly coming = new DueHeap<Change>()
  /** When the last change of an item comes: none may overtake another. */
  private readonly lastDue = new Map<string, number>()

  constructor(table: TableSchema, schema: IndexSchema, chance: Chance, habits: DynamoDbHabits) {
    this.table = table
    this.schema = schema
    this.chance = chance
    this.habits = habits
  }

  /** The table has changed an item. */
  follow(before: Attributes | undefined, after: Attributes | undefined, now: number): void {
    const [was, is] = [this.projected(before), this.projected(after)]
    if (was === is || (was && is && areEqual(was, is))) return
    const of = this.keyOf((before ?? after)!)
    const at = Math.max(now + this.chance.within(this.habits.indexLagMs), this.lastDue.get(of) ?? 0)
    this.lastDue.set(of, at)
    this.coming.push(at, { of, entry: is && { item: is, size: itemSize(is) } })
  }

  *partition(value: AttributeValue, isForward: boolean, now: number): Generator<Entry> {
    for (let due = this.coming.popDue(now); due; due = this.coming.popDue(now)) this.show(due.thing)
    const entries = this.partitions.get(keyText(value))?.all ?? []
    for (let i = 0; i < entries.length; i++) yield entries[isForward ? i : entries.length - 1 - i]!
  }

  /** The attributes of the key by which a query goes on. */
  get startKey(): string[] {
    return [...new Set([this.table.partition, this.table.sort, this.schema.partition, this.schema.sort])]
  }

  /** In the index's own order: its sort key, and then the table's keys. */
  readonly order = (a: Entry, b: Entry): number => {
    for (const name of [this.schema.sort, this.table.partition, this.table.sort]) {
      const order = compareValues(a.item[name]!, b.item[name]!)
      if (order !== 0) return order
    }
    return 0
  }

  private show({ of, entry }: Change): void {
    const old = this.shown.get(of)
    if (old) this.sortedOf(old).remove(old)
    if (entry) {
      this.shown.set(of, entry)
      this.sortedOf(entry).add(entry)
    } else this.shown.delete(of)
  }

  private sortedOf({ item }: Entry): Sorted<Entry> {
    const key = keyText(item[this.schema.partition]!)
    let sorted = this.partitions.get(key)
    if (!sorted) {
      sorted = new Sorted(this.order)
      this.partitions.set(key, sorted)
    }
    return sorted
  }

  /** Only an item that has both keys is in the index. */
  private projected(item: Attributes | undefined): Attributes | undefined {
    const { attributes, partition, sort } = this.schema
    if (!item?.[partition] || !item[sort]) return undefined
    if (!attributes) return item
    const projected: Attributes = {}
    for (const name in item) if (attributes.has(name)) projected[name] = item[name]!
    return projected
  }

  private keyOf(item: Attributes): string {
    return `${keyText(item[this.table.partition]!)}\n${keyText(item[this.table.sort]!)}`
  }
}
