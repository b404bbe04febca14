import type { Frame } from '../../sdk/engine/events.ts'
import type { DocumentStore, RunStore } from '../../sdk/ports.ts'
import type { Storage } from '../../sdk/rules/storage.ts'
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
          behind = new Promise((resolve) => clock.at(clock.now() + 100, () => resolve(isAlive() ? store.commit(commit) : undefined)))
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
        update: (run, change) => {
          if (change.when.leased === undefined || typeof run === 'string') return storage.update(run, change)
          const { bump: _, ...rest } = change
          return storage.update(run, { ...rest, setOnce: undefined } as typeof change)
        },
      }),
  },

  /** Times are kept in too coarse a measure, and rounded down. */
  'early wake': {
    found: BOTH,
    storage: (storage) =>
      replacing(storage, {
        load: (run) => after(storage.load(run), (loaded) => ({ ...loaded, frames: loaded.frames.map(withEarlySleeps) })),
        update: (run, change) =>
          storage.update(run, change.set?.status === 'sleeping' ? { ...change, set: { ...change.set, wakeAt: change.set.wakeAt! - EARLY_MS } } : change),
      }),
  },

  /** Who loses a slot takes it all the same. */
  'slot written twice': {
    found: BOTH,
    storage: (storage) => replacing(storage, { append: (run, frame) => after(storage.append(run, frame), () => true) }),
  },
}

function withEarlySleeps(frame: Frame): Frame {
  return { ...frame, events: frame.events.map((event) => (event.type === 'sleep.started' ? { ...event, until: event.until - EARLY_MS } : event)) }
}
