import type { Frame, JournalEvent } from '../../sdk/base/events.ts'
import type { DocumentStore } from '../../sdk/ports/documents.ts'
import type { Message } from '../../sdk/ports/run.ts'
import type { RunStore } from '../../sdk/ports/run-store.ts'
import { newRecord } from '../../sdk/rules/run-store.ts'
import type { Storage, StoredDocuments } from '../../sdk/rules/storage.ts'
import type { VirtualClock } from '../../sdk/testing/index.ts'
import type { Attributes } from './aws/values/attribute-value.ts'
import type { WorldName } from './simulate.ts'
import { after, replacing } from './spies.ts'

/** A bug, planted where it could be made. The simulator has to notice, on the worlds that can have it. */
export interface Mutant {
  found: readonly WorldName[]
  /** In what a world does for the rules. */
  storage?(storage: Storage): Storage
  /** In the rules themselves. */
  store?(store: RunStore, inside: { clock: VirtualClock; isAlive: () => boolean }): RunStore
  documents?(documents: DocumentStore): DocumentStore
  /** In what reaches DynamoDB's table. */
  write?(before: Attributes | undefined, item: Attributes | undefined): Attributes | undefined
}

const BOTH = ['local', 'aws'] as const
const EARLY_MS = 5_000
const LATER_MS = 1_000

export const MUTANTS: Record<string, Mutant> = {
  /** Says that a frame is durable and writes it a little later. */
  'ack before commit': {
    found: BOTH,
    store: (store, { clock, isAlive }) => {
      let behind: Promise<unknown> = Promise.resolve()
      return replacing(store, {
        commit: async (commit) => {
          await behind
          if (commit.next.kind !== 'keep') return store.commit(commit)
          behind = new Promise((resolve) =>
            clock.at(clock.now() + LATER_MS, () => resolve(isAlive() ? store.commit(commit) : undefined)),
          )
          return { ok: true, suspended: false, wakes: [] }
        },
      })
    },
  },

  /** Suspends without looking at what came in meanwhile. */
  'no condition on suspend': {
    found: BOTH,
    storage: (storage) =>
      replacing(storage, {
        update: (run, change) => {
          const { stimulus: _, ...when } = change.when
          return storage.update(run, { ...change, when })
        },
      }),
  },

  /** What comes for a run that is being run leaves no mark. */
  'wake dropped under lease': {
    found: BOTH,
    storage: (storage) =>
      replacing(storage, {
        update: (run, change) =>
          change.when.leased !== undefined && typeof run !== 'string' ? { ok: true, run } : storage.update(run, change),
      }),
  },

  /** Messages come by name, not as they arrived. */
  'messages by name': {
    found: BOTH,
    store: (store) =>
      replacing(store, {
        claim: async (...given) => {
          const claimed = await store.claim(...given)
          return claimed && { ...claimed, inbox: byName(claimed.inbox) }
        },
        inbox: async (runId) => {
          const inbox = await store.inbox(runId)
          return { ...inbox, messages: byName(inbox.messages) }
        },
      }),
  },

  /** A signal that carries nothing is journaled as it came. */
  'nothing carried, nothing journaled': {
    found: BOTH,
    store: (store) =>
      replacing(store, {
        commit: (commit) => store.commit({ ...commit, ...(commit.frame && { frame: withoutPayloads(commit.frame) }) }),
      }),
  },

  /** Times are kept in too coarse a measure, and rounded down. */
  'early wake': {
    found: BOTH,
    storage: (storage) =>
      replacing(storage, {
        load: (run) =>
          after(storage.load(run), (loaded) => ({ ...loaded, frames: loaded.frames.map(withEarlySleeps) })),
        update: (run, change) =>
          storage.update(
            run,
            change.set?.status === 'sleeping'
              ? { ...change, set: { ...change.set, wakeAt: change.set.wakeAt! - EARLY_MS } }
              : change,
          ),
      }),
  },

  /** Who loses a run, or a slot of its journal, takes it all the same. */
  'slot written twice': {
    found: BOTH,
    storage: (storage) =>
      replacing(storage, {
        held: (runId, epoch) => after(storage.held(runId, epoch), (run) => run ?? storage.find(runId)),
        append: (run, frame) => after(storage.append(run, frame), () => true),
      }),
  },

  /** What a run owns keeps the time to live that it was written with, however long the run waits. */
  'TTL not extended': {
    found: ['aws'],
    write: (before, item) => (before && item && before.ttl && isOwned(item) ? { ...item, ttl: before.ttl } : item),
  },

  /** A run that fails loses what it has not consumed, as if nobody could tell it to go on. */
  'message dropped at failure': {
    found: BOTH,
    storage: (storage) =>
      replacing(storage, {
        update: (run, change) => {
          if (change.set?.status !== 'failed' || typeof run === 'string') return storage.update(run, change)
          const dropped = after(storage.messages(run), (messages) =>
            storage.consume(
              run,
              messages.map(({ id }) => id),
            ),
          )
          return after(dropped, () => storage.update(run, change))
        },
      }),
  },

  /** Every generation of a run takes itself for the first. */
  'key reused across generations': {
    found: BOTH,
    storage: (storage) =>
      replacing(storage, { record: (run) => after(storage.record(run), (record) => ({ ...record, generation: 0 })) }),
  },

  /** Nobody looks who is queued, and the checks of limiters do not either. */
  'queue overlooked': {
    found: BOTH,
    storage: (storage) =>
      replacing(storage, {
        documents: {
          ...forRules(storage.documents),
          list: (collection, range) =>
            collection.startsWith('line ') ? [] : storage.documents.list(collection, range),
        },
      }),
  },

  /** A slot forgets who holds it. */
  'slot not kept': {
    found: BOTH,
    storage: (storage) =>
      replacing(storage, {
        documents: {
          ...forRules(storage.documents),
          put: (collection, key, value, options) =>
            storage.documents.put(
              collection,
              key,
              collection.startsWith('slots ') ? { ...(value as object), holder: '' } : value,
              options,
            ),
        },
      }),
  },

  /** A schedule that comes back is taken for the one that was ended. */
  'schedule not revived': {
    found: BOTH,
    store: (store) =>
      replacing(store, {
        create: async (run) =>
          /^schedule\.\w+\.\d+$/.test(run.id) ? { created: true, run: newRecord(run), wakes: [] } : store.create(run),
      }),
  },
}

/** As an object of its own, whatever class it is of. */
const forRules = (documents: StoredDocuments): StoredDocuments => ({
  get: (...asked) => documents.get(...asked),
  list: (...asked) => documents.list(...asked),
  put: (...asked) => documents.put(...asked),
  delete: (...asked) => documents.delete(...asked),
  remove: (...asked) => documents.remove(...asked),
  countUp: (...asked) => documents.countUp(...asked),
  endCount: (...asked) => documents.endCount(...asked),
})

const isOwned = ({ sk }: Attributes): boolean => /^[DJM]#/.test(sk!.S!)

function withEarlySleeps(frame: Frame): Frame {
  return {
    ...frame,
    events: frame.events.map((event) =>
      event.type === 'sleep.started' ? { ...event, until: event.until - EARLY_MS } : event,
    ),
  }
}

const nameOf = (message: Message): string => ('name' in message ? message.name : '')

const byName = (messages: readonly Message[]): Message[] =>
  messages.toSorted((a, b) => nameOf(b).localeCompare(nameOf(a)))

function withoutPayloads(frame: Frame): Frame {
  const without = (event: JournalEvent): JournalEvent => {
    if (event.type !== 'wait.completed' || event.payload !== true) return event
    const { payload: _, ...rest } = event
    return rest
  }
  return { ...frame, events: frame.events.map(without) }
}
