import { overrideMethods } from '../sdk/base/override-methods.ts'
import type { World } from '../sdk/ports/world.ts'

/** What a visit did, as far as it is counted. */
export interface Counted {
  workflow: string
  /** How many events there were to replay. */
  replayed: number
  retries: number
  failures: number
}

/** The same world, which counts what passes by. `take` gives, once, what was counted of a run since it was claimed. */
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
