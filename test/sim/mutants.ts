import type { RunStore } from '../../sdk/ports.ts'
import type { VirtualClock } from '../../sdk/testing/index.ts'
import type { Database } from '../../sdk/worlds/local/database.ts'

/** A store with a bug planted in it. The simulator has to notice. */
export type Mutant = (store: RunStore, inside: { db: Database; clock: VirtualClock; isAlive: () => boolean }) => RunStore

function replacing(store: RunStore, methods: Partial<RunStore>): RunStore {
  return new Proxy(store, {
    get: (target, property) => {
      const replaced = methods[property as keyof RunStore]
      if (replaced) return replaced
      const member: unknown = Reflect.get(target, property, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** Says that a frame is durable and writes it a little later. */
const ackBeforeCommit: Mutant = (store, { clock, isAlive }) => {
  let behind: Promise<unknown> = Promise.resolve()
  return replacing(store, {
    commit: async (commit) => {
      await behind
      if (commit.next.kind !== 'keep') return store.commit(commit)
      behind = new Promise((resolve) => clock.at(clock.now() + 100, () => resolve(isAlive() ? store.commit(commit) : undefined)))
      return { ok: true, suspended: false, wakes: [] }
    },
  })
}

/** Suspends without looking at what came in meanwhile. */
const suspendWithoutCondition: Mutant = (store) =>
  replacing(store, {
    commit: async (commit) => {
      if (commit.next.kind !== 'suspend') return store.commit(commit)
      const { stimulus } = await store.inbox(commit.runId)
      return store.commit({ ...commit, next: { ...commit.next, seen: stimulus } })
    },
  })

/** A message for a run that is being run leaves no mark, as if its wake-up had been dropped. */
const wakeDroppedUnderLease: Mutant = (store, { db, clock }) =>
  replacing(store, {
    deliver: async (runId, message) => {
      const result = await store.deliver(runId, message)
      if (result.outcome === 'accepted' && result.wakes.length === 0) {
        await db.write(() => db.run('UPDATE runs SET stimulus = stimulus - 1 WHERE id = ? AND lease_until > ?', runId, clock.now()))
      }
      return result
    },
  })

/** Who loses a slot takes it all the same. */
const slotWrittenTwice: Mutant = (store, { db }) =>
  replacing(store, {
    commit: async (commit) => {
      const result = await store.commit(commit)
      const { frame } = commit
      if (result.ok || !frame) return result
      await db.write(() => {
        const run = db.row('SELECT key FROM runs WHERE id = ?', commit.runId)!.key!
        const events = JSON.stringify(frame.events).slice(1, -1)
        db.run('INSERT OR REPLACE INTO frames (run, seq, at, epoch, events) VALUES (?, ?, ?, ?, ?)', run, frame.seq, frame.at, frame.epoch, events)
      })
      return { ok: true, suspended: true, wakes: [] }
    },
  })

export const MUTANTS: Record<string, Mutant> = { ackBeforeCommit, suspendWithoutCondition, wakeDroppedUnderLease, slotWrittenTwice }
