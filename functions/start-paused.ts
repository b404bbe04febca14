import { pause } from '../sdk/flow/pauses.ts'
import type { World } from '../sdk/ports/world.ts'

/** The document that records that a deployment has begun paused. */
const DEPLOYMENTS = 'deployments'

/**
 * Pauses everything once, before the function does anything else, if the deployment is to begin paused.
 * `occasion` is the value of the construct's `startPaused`; without it this does and costs nothing. Otherwise
 * each starting function makes one read, and repeats it after a failure.
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

/**
 * The pause comes before the mark: after a crash in between, the next function pauses again, which changes
 * nothing.
 */
async function pauseOnce(world: World, occasion: string): Promise<void> {
  const key = `paused ${occasion}`
  if (await world.documents.get(DEPLOYMENTS, key)) return
  await pause(world, { all: true })
  await world.documents.put(DEPLOYMENTS, key, { at: world.clock.now() }, { ifVersion: 0 })
}
