import { overrideMethods } from '../sdk/base/override-methods.ts'
import type { World } from '../sdk/ports/world.ts'

/** Counts of one visit. */
export interface Counted {
  workflow: string
  /** How many events were replayed. */
  replayed: number
  retries: number
  failures: number
}

/** The same world, which counts claims and commits. `take` returns, once, the counts of a run since its claim. */
export function counted<W extends World>(world: W): { world: W; take: (runId: string) => Counted | undefined } {
  const visits = new Map<string, Counted>()
  const { store } = world
  const counting = overrideMethods(store, {
    claim: async (runId, lease) => {
      const claimed = await store.claim(runId, lease)
      if (claimed) {
        const replayed = claimed.frames.reduce((sum, { events }) => sum + events.length, 0)
        visits.set(runId, { workflow: claimed.run.workflow, replayed, retries: 0, failures: 0 })
      }
      return claimed
    },
    commit: async (commit) => {
      const result = await store.commit(commit)
      const visit = visits.get(commit.runId)
      if (!visit || !result.ok) return result
      for (const { type } of commit.frame?.events ?? []) {
        if (type === 'step.retrying') visit.retries++
        else if (type === 'step.failed') visit.failures++
      }
      return result
    },
  })
  const take = (runId: string) => {
    const visit = visits.get(runId)
    visits.delete(runId)
    return visit
  }
  return { world: Object.create(world, { store: { value: counting, enumerable: true } }) as W, take }
}
