import type { Document } from '../../ports/documents.ts'
import type { Count } from '../../ports/run-lists.ts'
import type { World } from '../../ports/world.ts'
import { type LimiterId, queueOf } from '../limiter/limiter.ts'
import { behindFairnessKey, type QueueEntry, readEntry } from '../limiter/queue.ts'
import { inWords, UNKNOWN } from '../limiter/readable.ts'

/** Queues as operators see them. Nothing is granted by what is read here. */

/** A queue is counted no further. */
const MOST_COUNTED = 1_000
/** Of a longer queue, at most so many fairness keys are read, one after the other. */
const MOST_KEYS = 50

export interface SeenQueue {
  /** Sorted by fairness key. */
  entries: QueueEntry[]
  isMore?: true
  /** Requests that cannot be read, and where they are. They are counted, and not among the entries. */
  unreadable?: { key: string; problem: string }[]
}

/** The queue of a limiter, as far as it is counted. */
export async function readQueueOf({ documents }: Pick<World, 'documents'>, id: LimiterId): Promise<SeenQueue> {
  const found = await documents.list(queueOf(id), { limit: MOST_COUNTED + 1 })
  const counted = found.slice(0, MOST_COUNTED)
  const unreadable = counted
    .filter((document) => document.unreadable)
    .map((document) => ({ key: document.key, problem: inWords(queueOf(id), document) }))
  return {
    entries: entriesOf(counted),
    ...(found.length > MOST_COUNTED && { isMore: true }),
    ...(unreadable.length > 0 && { unreadable }),
  }
}

/**
 * A long queue may be that of one fairness key, and others are served in between. So this reads the first entries
 * of each key, in the order in which keys take turns. `isMore`: there are more keys.
 */
export async function readByFairnessKey(
  { documents }: Pick<World, 'documents'>,
  id: LimiterId,
  { served, each, most }: Sample,
): Promise<SeenQueue> {
  const byKey = new Map<string, QueueEntry[]>()
  let count = 0
  let after = served === undefined ? undefined : behindFairnessKey(served)
  let isFromStart = after === undefined
  while (byKey.size < most && count < MOST_COUNTED) {
    const found = await documents.list(queueOf(id), { limit: each, ...(after !== undefined && { after }) })
    const entries = entriesOf(found)
    const key = entries[0]?.lane
    if (key === undefined && !isFromStart) {
      isFromStart = true
      after = undefined
      continue
    }
    if (key === undefined || byKey.has(key)) return { entries: [...byKey.values()].flat() }
    const ofKey = entries.filter((entry) => entry.lane === key)
    byKey.set(key, ofKey)
    count += ofKey.length
    after = behindFairnessKey(key)
  }
  return { entries: [...byKey.values()].flat(), isMore: true }
}

interface Sample {
  /** The fairness key that was served last. */
  served: string | undefined
  /** How many entries of each key, and how many keys. */
  each: number
  most: number
}

/**
 * What of a long queue is served before a holder with this fairness key: as many of each other key as are before it
 * in its own.
 */
export async function readFor(
  world: Pick<World, 'documents'>,
  id: LimiterId,
  fairnessKey: string,
  holder: string,
  served: string | undefined,
): Promise<SeenQueue> {
  const found = await world.documents.list(queueOf(id), { after: `${fairnessKey}/`, limit: MOST_COUNTED })
  const own = entriesOf(found).filter((entry) => entry.lane === fairnessKey)
  const depth = own.findIndex((entry) => entry.holder === holder) + 1
  if (depth === 0) return { entries: own, isMore: true }
  const queue = await readByFairnessKey(world, id, { served, each: depth, most: MOST_KEYS })
  return queue.entries.some((entry) => entry.holder === holder)
    ? queue
    : { ...queue, entries: [...queue.entries, ...own.slice(0, depth)] }
}

export const hasFairnessKeys = ({ entries }: Pick<SeenQueue, 'entries'>): boolean => entries.at(-1)?.lane !== ''

const entriesOf = (found: readonly Document[]): QueueEntry[] =>
  found.map(({ value }) => readEntry(value)).filter(({ run }) => run !== UNKNOWN)

export const countOf = ({ entries, isMore, unreadable = [] }: SeenQueue): Count => ({
  count: entries.length + unreadable.length,
  ...(isMore && { isMore }),
})

/** Where not the whole queue is read, entries of other fairness keys may be served in between: `isMore`. */
export function placeAt(at: number, { entries, isMore }: SeenQueue): Count {
  if (!isMore) return { count: Math.max(0, at) + 1 }
  if (at < 0) return { count: MOST_COUNTED, isMore }
  return { count: at + 1, ...(hasFairnessKeys({ entries }) && { isMore }) }
}
