import { TABLE } from '../../sdk/worlds/aws/table.ts'
import { itemSize } from './item-size.ts'

/** Capacity units as DynamoDB bills them on demand, worked out from the items: no stand-in counts indexes. */

export type Item = Record<string, unknown>

/** What a write costs that turned `before` into `after`; either may be absent. Indexes included. */
export function writeUnits(before: Item | undefined, after: Item | undefined): number {
  const table = kilobytes(Math.max(sizeOf(before), sizeOf(after)))
  return TABLE.indexes.reduce((sum, index) => sum + indexUnits(entryOf(index, before), entryOf(index, after)), table)
}

/** A write that its condition refused costs by the item it met. */
export function refusedWriteUnits(before: Item | undefined): number {
  return kilobytes(sizeOf(before))
}

/** Whole 4 KB, half the price if any replica may answer. Reading nothing costs as much as reading little. */
export function readUnits(items: Item[], consistent: boolean): number {
  const bytes = items.reduce((sum, item) => sum + itemSize(item), 0)
  return Math.max(1, Math.ceil(bytes / 4096)) * (consistent ? 1 : 0.5)
}

/** An entry that appears, goes or changes is one write; one that moves to another key is two. */
function indexUnits(before: Item | undefined, after: Item | undefined): number {
  if (!before && !after) return 0
  if (!before || !after) return kilobytes(sizeOf(before ?? after))
  if (JSON.stringify(before.key) !== JSON.stringify(after.key))
    return kilobytes(sizeOf(before)) + kilobytes(sizeOf(after))
  return JSON.stringify(before) === JSON.stringify(after) ? 0 : kilobytes(Math.max(sizeOf(before), sizeOf(after)))
}

/** What of an item is in an index; nothing unless it has both keys. */
function entryOf(index: (typeof TABLE.indexes)[number], item: Item | undefined): Item | undefined {
  if (item?.[index.partitionKey] === undefined || item[index.sortKey] === undefined) return undefined
  const entry: Item = { pk: item.pk, sk: item.sk, key: [item[index.partitionKey], item[index.sortKey]] }
  for (const name of index.include ?? []) if (item[name] !== undefined) entry[name] = item[name]
  return entry
}

const sizeOf = (item: Item | undefined): number => (item ? itemSize(item) : 0)
const kilobytes = (bytes: number): number => Math.max(1, Math.ceil(bytes / 1024))
