import { pause } from '../sdk/flow/pauses.ts'
import type { World } from '../sdk/ports/world.ts'

/** Where it is written down that a deployment has begun paused. */
const DEPLOYMENTS = 'deployments'

/**
 * Of a deployment that is to begin paused: makes sure, before anything else is done, that everything was paused once. `occasion` is what the construct's `startPaused` says; without it there
 * is nothing to do, at no cost. Otherwise it is one read for each function that starts, and again where that failed.
 */
export function startingPaused(
  world: World,
  occasion = process.env.OVERWINTER_START_PAUSED,
): () => Promise<void> | undefined {
  let done: Promise<void> | undefined
  return () => {
    if (occasion === undefined) return undefined
    done ??= pauseOnce(world, occasion).catch((error: unknown) => {
      done = undefined
      throw error
    })
    return done
  }
}

/** The pause comes before the mark: if this dies in between, the next one pauses again, which changes nothing. */
async function pauseOnce(world: World, occasion: string): Promise<void> {
  const key = `paused ${occasion}`
  if (await world.documents.get(DEPLOYMENTS, key)) return
  await pause(world, { all: true })
  await world.documents.put(DEPLOYMENTS, key, { at: world.clock.now() }, { ifVersion: 0 })
}
