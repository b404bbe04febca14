import { testEnv } from 'overwinter/testing'

import type { Stage } from '../suite/stage.ts'
import { schedules, workflows } from './cast.ts'

/** The body of a step takes real time, even here. */
const QUIET_MS = 60_000

/** Virtual time: waits are as long as in real life, and end at once. */
export async function testKitStage(): Promise<Stage> {
  const env = await testEnv({ workflows })
  return {
    get client() {
      return env.client
    },
    get schedules() {
      return env.schedules
    },
    now: () => env.clock.now(),
    takes: (inRealLife) => inRealLife,
    latenessMs: 0,
    async until(what, probe) {
      for (const deadline = performance.now() + QUIET_MS; performance.now() < deadline; ) {
        await env.settle()
        const answer = await probe()
        if (answer !== undefined) return answer
        const next = env.clock.next()
        if (next !== undefined) await env.advance(next - env.clock.now())
      }
      throw new Error(`nothing is due any more, and still not: ${what}`)
    },
    // Time passes by itself.
    skipSleep: async () => {},
    restart: () => env.restart(),
    syncSchedules: () => env.schedules.sync(schedules),
  }
}
