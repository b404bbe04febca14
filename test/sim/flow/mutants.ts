import type { Json } from '../../../sdk/base/json.ts'
import type { Document, DocumentStore } from '../../../sdk/ports/documents.ts'
import type { Storage, StoredDocuments } from '../../../sdk/rules/storage.ts'
import type { Mutant } from '../mutants.ts'
import type { WorldName } from '../simulate.ts'
import { after, replacing } from '../spies.ts'
import {
  holderOf,
  isLimiter,
  isLimitRecord,
  isPauseRecord,
  isQueue,
  isSeries,
  isSlot,
  isStart,
  resumedAt,
  withoutHolder,
  withoutUse,
} from './stored.ts'

/** A bug in flow control, planted where rules and storage meet, so that it survives another way of writing the rules. */
export interface FlowMutant {
  /** The worlds that can have it. */
  found: readonly WorldName[]
  /** Kinds of failures that it may show as. */
  shows: readonly string[]
  /** Anew for each history: some bugs remember what they have seen. */
  plant(): Omit<Mutant, 'found'>
}

const BOTH = ['local', 'aws'] as const
/** Locally a rule is one transaction, so that nobody comes in between. */
const WITHOUT_TRANSACTIONS = ['aws'] as const

type Put = StoredDocuments['put']
type Replace = (documents: StoredDocuments) => Partial<StoredDocuments>

/** The bug is in what is read or written of documents, whoever does it. */
function inDocuments(found: readonly WorldName[], shows: readonly string[], make: () => Replace): FlowMutant {
  const plant = (): Omit<Mutant, 'found'> => {
    const replace = make()
    return {
      storage: (storage) => replacing(storage, { documents: replacing(storage.documents, replace(storage.documents)) }),
      documents: (documents) => replacing(documents, later(replace(documents as unknown as StoredDocuments))),
    }
  }
  return { found, shows, plant }
}

/** The same for those who wait for every answer. */
function later(methods: Partial<StoredDocuments>): Partial<DocumentStore> {
  const entries = Object.entries(methods).map(([name, method]) => [
    name,
    async (...given: never[]) => (method as (...all: never[]) => unknown)(...given),
  ])
  return Object.fromEntries(entries) as Partial<DocumentStore>
}

/** Every nth time. */
function every(n: number): () => boolean {
  let count = 0
  return () => ++count % n === 0
}

/** What somebody gets who believes that a document was written. */
const asIfWritten = (key: string, value: Json, options: Parameters<Put>[3] = {}): Document => ({
  key,
  value,
  version: (options.ifVersion ?? 0) + 1,
})

/** Documents of some collections are written with another value. */
const writing =
  (isIt: (collection: string) => boolean, change: (value: object) => object) => (): Replace => (documents) => ({
    put: (collection, key, value, options) =>
      documents.put(
        collection,
        key,
        isIt(collection) && value !== null ? (change(value as object) as Json) : value,
        options,
      ),
  })

/** Documents of some collections are written whatever is there. */
const ignoringVersions = (isIt: (collection: string) => boolean) => (): Replace => (documents) => ({
  put: (collection, key, value, options = {}) => {
    const { ifVersion: _, ...rest } = options
    return documents.put(collection, key, value, isIt(collection) ? rest : options)
  },
})

export const FLOW_MUTANTS: Record<string, FlowMutant> = {
  /** Every third place in a queue is confirmed and never written. */
  'a queue entry is dropped': inDocuments(BOTH, ['stands', 'lost'], () => {
    const isTime = every(3)
    return (documents) => ({
      put: (collection, key, value, options) =>
        isQueue(collection) && isTime()
          ? asIfWritten(key, value, options)
          : documents.put(collection, key, value, options),
    })
  }),

  /** Every third time that somebody gives a permit back, the limiter does not hear of it. */
  'a release is lost': inDocuments(BOTH, ['stands', 'left', 'lost'], () => {
    const isTime = every(3)
    return (documents) => ({
      put: (collection, key, value, options) => {
        if (!isSlot(collection)) return documents.put(collection, key, value, options)
        return after(documents.get(collection, key), (before) => {
          const isRelease = holderOf(before?.value) !== '' && holderOf(value) !== holderOf(before?.value)
          return isRelease && isTime()
            ? asIfWritten(key, value, options)
            : documents.put(collection, key, value, options)
        })
      },
    })
  }),

  /** The rules go by the first numbers of a limit that they have read, for ever. People see what they have set. */
  'a limit record is read stale': {
    found: BOTH,
    shows: ['paused limit', 'limit', 'stands', 'lost'],
    plant: () => {
      const first = new Map<string, Json>()
      const stale = (found: Document | undefined): Document | undefined => {
        if (found && !first.has(found.key)) first.set(found.key, found.value)
        return found && { ...found, value: first.get(found.key)! }
      }
      const documents = (fresh: StoredDocuments): StoredDocuments =>
        replacing(fresh, {
          get: (collection, key) =>
            isLimitRecord(collection) ? after(fresh.get(collection, key), stale) : fresh.get(collection, key),
        })
      return { storage: (storage) => replacing(storage, { documents: documents(storage.documents) }) }
    },
  },

  /** The limiter counts somebody who is never told of it. */
  'a permit without a wake-up': {
    found: BOTH,
    shows: ['stands', 'left', 'lost'],
    plant: () => {
      const isTime = every(3)
      let isGranted = false
      const documents = (storage: Storage): StoredDocuments =>
        replacing(storage.documents, {
          put: (collection, key, value, options) => {
            if (isSlot(collection) && holderOf(value) !== '') isGranted = true
            return storage.documents.put(collection, key, value, options)
          },
        })
      return {
        storage: (storage) =>
          replacing(storage, {
            documents: documents(storage),
            update: (run, change) => {
              const isTelling =
                change.when.status?.includes('queued') === true || change.bump?.includes('stimulus') === true
              if (!isGranted || !isTelling || typeof run === 'string') return storage.update(run, change)
              isGranted = false
              return isTime() ? { ok: true, run } : storage.update(run, change)
            },
          }),
      }
    },
  },

  /** Of two who take one slot at once, both get it. */
  'a slot is written over': inDocuments(
    WITHOUT_TRANSACTIONS,
    ['limit', 'rate'],
    ignoringVersions((collection) => isSlot(collection) || isLimiter(collection)),
  ),

  /** Runners do not see that anything is paused. Whoever looks for one pause finds it. */
  'a pause is not seen': inDocuments(BOTH, ['pause'], () => (documents) => ({
    list: (collection, range) => (isPauseRecord(collection) ? [] : documents.list(collection, range)),
  })),

  /** A resume lets everybody go at once. */
  'a resume ignores its rate': inDocuments(
    BOTH,
    ['resume'],
    writing(isPauseRecord, (record) => resumedAt(record, 1_000)),
  ),

  /** Every third start is confirmed and never written. */
  'a start is lost': {
    found: BOTH,
    shows: ['starts', 'stands', 'a runner threw'],
    plant: () => {
      const isTime = every(3)
      return {
        storage: (storage) =>
          replacing(storage, {
            putMessage: (run, message) => (isStart(message.id) && isTime() ? 'new' : storage.putMessage(run, message)),
          }),
      }
    },
  },

  /** A series counts every second start as the one before it. */
  'a start is not counted': inDocuments(BOTH, ['starts', 'stands', 'a runner threw'], () => {
    const isTime = every(2)
    return (documents) => ({
      countUp: (collection, key, ifNew, expiresAt) =>
        isSeries(collection) && isTime()
          ? after(
              documents.get(collection, key),
              (found) => found ?? documents.countUp(collection, key, ifNew, expiresAt),
            )
          : documents.countUp(collection, key, ifNew, expiresAt),
    })
  }),

  /** A limiter does not know what it let in lately. */
  'a rate is forgotten': inDocuments(BOTH, ['rate'], writing(isLimiter, withoutUse)),

  /** A slot forgets who holds it. */
  'a permit is forgotten': inDocuments(BOTH, ['limit'], writing(isSlot, withoutHolder)),

  /** What should go some time never does. */
  'an expiry is forgotten': inDocuments(BOTH, ['left'], () => (documents) => ({
    put: (collection, key, value, options = {}) => {
      const { expiresAt: _, ...rest } = options
      return documents.put(collection, key, value, isSlot(collection) || isLimiter(collection) ? rest : options)
    },
  })),
}
