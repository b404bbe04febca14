import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Clock } from '../../../../sdk/ports/world.ts'
import type { Chance } from '../chance.ts'
import { DueHeap } from '../due-heap.ts'
import type { Attributes } from '../values/attribute-value.ts'
import { compareValues } from '../values/compare.ts'
import { itemSize } from '../values/size.ts'
import type { DynamoDbHabits } from './habits.ts'
import { LateIndex } from './late-index.ts'
import type { TableSchema } from './schema.ts'
import { Sorted } from './sorted.ts'

/** An item at a time; undefined while there was none. Never changed: a write makes the next version. */
export interface Version {
  item: Attributes | undefined
  size: number
  since: number
  /** What replicas that are behind still show. */
  before: Version | undefined
}

interface Slot {
  sort: AttributeValue
  version: Version
  /** When TTL takes the item away. */
  expires: { ttl: string; at: number } | undefined
}

interface Partition {
  slots: Map<string, Slot>
  sorted: Sorted<Slot>
}

/** AWS leaves alone what would have expired more than five years ago: it takes it for a mistake. */
const TTL_HORIZON_MS = 5 * 365 * 86_400_000

/** The items of one table with their recent past, its indexes, and TTL. Nothing here needs a timer: whoever looks finds what time has done. */
export class Table {
  readonly schema: TableSchema
  readonly indexes: Map<string, LateIndex>
  /** What AWS would have charged for reading so far. */
  readUnits = 0
  private readonly clock: Clock
  private readonly chance: Chance
  private readonly habits: DynamoDbHabits
  private readonly timeToLive: string
  private readonly partitions = new Map<string, Partition>()
  private readonly expiring = new DueHeap<{ slot: Slot; at: number }>()

  constructor(schema: TableSchema, timeToLive: string, clock: Clock, chance: Chance, habits: DynamoDbHabits) {
    this.schema = schema
    this.timeToLive = timeToLive
    this.clock = clock
    this.chance = chance
    this.habits = habits
    this.indexes = new Map(schema.indexes.map((index) => [index.name, new LateIndex(schema, index, chance, habits)]))
  }

  /** For one item, or for all that a query has looked at. */
  charge(bytes: number, isConsistent: boolean | undefined): void {
    this.readUnits += Math.max(1, Math.ceil(bytes / 4_096)) * (isConsistent ? 1 : 0.5)
  }

  /** The item under a key, as it is (`lag` 0) or as it was so long ago. */
  read(key: Attributes, lag: number): Version | undefined {
    const now = this.settle()
    const slot = this.partitions.get(keyText(key[this.schema.partition]!))?.slots.get(keyText(key[this.schema.sort]!))
    return slot && versionAt(slot.version, now - lag)
  }

  /** All of a partition in the order of its sort keys. */
  *partition(value: AttributeValue, isForward: boolean, lag: number): Generator<Version> {
    const now = this.settle()
    const slots = this.partitions.get(keyText(value))?.sorted.all ?? []
    for (let i = 0; i < slots.length; i++) {
      const version = versionAt(slots[isForward ? i : slots.length - 1 - i]!.version, now - lag)
      if (version?.item) yield version
    }
  }

  write(key: Attributes, item: Attributes | undefined): void {
    const now = this.settle()
    const slot = this.slotOf(key)
    this.change(slot, item, now)
    this.plan(slot, now)
  }

  /** How far behind a read is that need not be strongly consistent. */
  lag(isConsistent: boolean | undefined): number {
    const { chance, lagMs } = this.habits.staleReads
    return !isConsistent && this.chance.strikes(chance) ? this.chance.within(lagMs) : 0
  }

  /** Every item there is, for those who check invariants; `goesAt` says when TTL will take it. */
  *items(): Generator<{ item: Attributes; ttl: number | undefined; goesAt: number | undefined }> {
    this.settle()
    for (const { sorted } of this.partitions.values()) {
      for (const { version, expires } of sorted.all) {
        if (version.item) yield { item: version.item, ttl: expires && Number(expires.ttl), goesAt: expires?.at }
      }
    }
  }

  /** What time has done: everything is gone that TTL has taken until now, which is returned. */
  settle(): number {
    const now = this.clock.now()
    for (let due = this.expiring.popDue(now); due; due = this.expiring.popDue(now)) {
      const { slot, at } = due.thing
      if (slot.expires?.at === at) this.change(slot, undefined, at)
    }
    return now
  }

  private change(slot: Slot, item: Attributes | undefined, now: number): void {
    const before = slot.version
    slot.version = { item, size: item ? itemSize(item) : 0, since: now, before: this.stillShown(before, now) }
    if (!item) slot.expires = undefined
    for (const index of this.indexes.values()) index.follow(before.item, item, now)
  }

  private plan(slot: Slot, now: number): void {
    const ttl = slot.version.item?.[this.timeToLive]?.N
    if (ttl === undefined) slot.expires = undefined
    else if (slot.expires?.ttl !== ttl) {
      const due = Number(ttl) * 1_000
      const at =
        due < now - TTL_HORIZON_MS
          ? Number.POSITIVE_INFINITY
          : Math.max(now + 1, due + this.chance.within(this.habits.ttlLagMs))
      slot.expires = { ttl, at }
      if (at < Number.POSITIVE_INFINITY) this.expiring.push(at, { slot, at })
    }
  }

  private stillShown(version: Version, now: number): Version | undefined {
    const [, most] = this.habits.staleReads.lagMs
    if (most === 0) return undefined
    if (version.since <= now - most) version.before = undefined
    return version
  }

  private slotOf(key: Attributes): Slot {
    const [partitionKey, sort] = [keyText(key[this.schema.partition]!), key[this.schema.sort]!]
    let partition = this.partitions.get(partitionKey)
    if (!partition) {
      partition = { slots: new Map(), sorted: new Sorted((a, b) => compareValues(a.sort, b.sort)) }
      this.partitions.set(partitionKey, partition)
    }
    let slot = partition.slots.get(keyText(sort))
    if (!slot) {
      slot = {
        sort,
        version: { item: undefined, size: 0, since: Number.NEGATIVE_INFINITY, before: undefined },
        expires: undefined,
      }
      partition.slots.set(keyText(sort), slot)
      partition.sorted.add(slot)
    }
    return slot
  }
}

export function keyText(value: AttributeValue): string {
  return value.S ?? value.N ?? Buffer.from(value.B!).toString('latin1')
}

function versionAt(version: Version, time: number): Version | undefined {
  let shown: Version | undefined = version
  while (shown?.before && shown.since > time) shown = shown.before
  return shown
}
