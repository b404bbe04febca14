import type { Stage } from '../suite/stage.ts'

/** In real time, a stage waits by polling. */
export function byAsking({ everyMs, withinMs }: { everyMs: number; withinMs: number }): Stage['until'] {
  return async (what, probe) => {
    for (const deadline = Date.now() + withinMs; Date.now() < deadline; ) {
      const answer = await probe()
      if (answer !== undefined) return answer
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
    throw new Error(`after ${withinMs / 1000} s still not: ${what}`)
  }
}
