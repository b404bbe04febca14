import { SeededRandom } from '../base/random.ts'
import type { Ids } from '../ports/world.ts'

/** Ids that are the same in every run of a test. */
export function seededIds(seed: string | number): Ids {
  const random = new SeededRandom(String(seed))
  let runs = 0
  let messages = 0
  return {
    runId: () => `run-${++runs}`,
    secret: () => random.uuid(),
    messageId: () => `message-${++messages}`,
    random: () => random.next(),
  }
}
