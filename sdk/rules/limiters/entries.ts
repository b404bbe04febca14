import { type LimiterId, queueOf } from '../../flow/limiter/limiter.ts'
import {
  behindFairnessKey,
  entryKey,
  type Identified,
  type QueueEntry,
  readEntry,
  writeEntry,
} from '../../flow/limiter/queue.ts'
import type { Document } from '../../ports/documents.ts'
import { ask, type Procedure, together } from '../procedure.ts'
import type { Storage } from '../storage.ts'

/** A queue entry as it was read. */
export interface Queued {
  key: string
  version: number
  entry: QueueEntry
}

const PAGE = 25

/**
 * The first entries that wait for a grant, in the order of service, beginning behind the fairness key that was
 * served last.
 */
export function* nextEntries(
  storage: Storage,
  id: LimiterId,
  served: string | undefined,
  most: number,
  but?: ReadonlySet<string>,
): Procedure<Queued[]> {
  const behind = served === undefined ? [] : yield* waiting(storage, id, behindFairnessKey(served), most, but)
  if (behind.length >= most) return behind
  const all = yield* waiting(storage, id, undefined, most, but)
  const known = new Set(behind.map(({ key }) => key))
  return [...behind, ...all.filter(({ key }) => !known.has(key))].slice(0, most)
}

function* waiting(
  storage: Storage,
  id: LimiterId,
  after: string | undefined,
  most: number,
  but?: ReadonlySet<string>,
): Procedure<Queued[]> {
  const found: Queued[] = []
  const limit = Math.max(most, PAGE)
  for (let from = after; ; ) {
    const page = yield* ask(storage.documents.list(queueOf(id), { limit, ...(from !== undefined && { after: from }) }))
    found.push(...page.map(toQueued).filter(({ entry, key }) => entry.grant === undefined && !but?.has(key)))
    if (found.length >= most || page.length < limit) return found.slice(0, most)
    from = page.at(-1)!.key
  }
}

export function* readQueue(storage: Storage, id: LimiterId, limit: number): Procedure<Queued[]> {
  return (yield* ask(storage.documents.list(queueOf(id), { limit }))).map(toQueued)
}

export function* findEntry(storage: Storage, id: LimiterId, entry: Identified): Procedure<Queued | undefined> {
  const found = yield* ask(storage.documents.get(queueOf(id), entryKey(entry)))
  return found && toQueued(found)
}

/** Finds entries of one run. Mostly they are next to each other in the queue, so one read has all of them. */
export function* findEntries(
  storage: Storage,
  id: LimiterId,
  entries: readonly Identified[],
): Procedure<(Queued | undefined)[]> {
  if (entries.length < MANY) return yield* together(entries.map((entry) => findEntry(storage, id, entry)))
  const first = entries.map(entryKey).reduce((a, b) => (isBefore(b, a) ? b : a))
  const limit = entries.length + PAGE
  const page = yield* ask(storage.documents.list(queueOf(id), { after: first.slice(0, -1), limit }))
  const found = new Map(page.map((document) => [document.key, toQueued(document)]))
  const isAll = page.length < limit
  return yield* together(
    entries.map((entry) => {
      const there = found.get(entryKey(entry))
      // Entries of other runs may be between them, and fill the page.
      return there || isAll ? ask(there) : findEntry(storage, id, entry)
    }),
  )
}

/** So many reads of one entry each cost more than one read of a page. */
const MANY = 4

/** As stores sort keys: by their UTF-8 bytes. */
const isBefore = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0

/**
 * Every entry of a run in this queue: it has one for each time that it was queued. All but the last are left over.
 */
export function* entriesOfRun(storage: Storage, id: LimiterId, entry: Identified): Procedure<Queued[]> {
  const first = entryKey({ ...entry, nth: 0 })
  const found = yield* ask(storage.documents.list(queueOf(id), { after: first.slice(0, -1), limit: PAGE }))
  return found.map(toQueued).filter(({ entry: { holder } }) => holder === entry.holder)
}

/** Does nothing where the entry is there already. */
export function* putEntry(storage: Storage, id: LimiterId, entry: QueueEntry): Procedure<void> {
  yield* ask(storage.documents.put(queueOf(id), entryKey(entry), writeEntry(entry), { ifVersion: 0 }))
}

/** False where it is not as it was read. */
export function* changeEntry(
  storage: Storage,
  id: LimiterId,
  { key, version }: Queued,
  next: QueueEntry,
): Procedure<boolean> {
  return (yield* ask(storage.documents.put(queueOf(id), key, writeEntry(next), { ifVersion: version }))) !== undefined
}

export function* removeEntry(storage: Storage, id: LimiterId, key: string): Procedure<void> {
  yield* ask(storage.documents.remove(queueOf(id), key))
}

const toQueued = ({ key, version, value }: Document): Queued => ({ key, version, entry: readEntry(value) })
