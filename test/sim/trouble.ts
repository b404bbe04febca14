import type { SeededRandom } from '../../sdk/base/random.ts'
import { type Habits, MOODY } from './aws/aws-in-memory.ts'

/** How bad a world is. Every probability is per call or per message. */
export interface Trouble {
  crash: number
  /** A process that stands still past its lease and then goes on, unaware. */
  stall: number
  loseWake: number
  repeatWake: number
  lateWake: number
  /** How long a call to the store may take each way, in milliseconds. */
  latency: number
  /** How far the clocks of processes are apart, in milliseconds. */
  skew: number
  /** One crash, exactly before or after the store's nth call. */
  crashAt?: { call: number; when: 'before' | 'after' }
  /** When the second code arrives, after the start, and for how long the first lives on beside it. */
  deployAfter: number
  deployTakes: number
  /** What else can happen to a call on AWS. */
  throttle: number
  loseRequest: number
  loseAnswer: number
  /** Lambda has no room for an invocation. */
  noRoom: number
  habits: Partial<Habits>
}

export const NO_TROUBLE: Trouble = {
  crash: 0,
  stall: 0,
  loseWake: 0,
  repeatWake: 0,
  lateWake: 0,
  latency: 0,
  skew: 0,
  deployAfter: 0,
  deployTakes: 0,
  throttle: 0,
  loseRequest: 0,
  loseAnswer: 0,
  noRoom: 0,
  habits: {},
}

export function generateTrouble(random: SeededRandom): Trouble {
  const some = (most: number) => (random.next() < 0.4 ? 0 : random.next() * most)
  return {
    crash: some(0.12),
    // In some worlds they do little else: two runners with one run in their hands are what the journal's slots are for.
    stall: some(random.next() < 0.25 ? 0.6 : 0.1),
    loseWake: some(0.3),
    repeatWake: some(0.5),
    lateWake: some(0.3),
    latency: random.next() < 0.3 ? 0 : Math.round(random.next() * 800),
    skew: random.next() < 0.3 ? 2_000 : 0,
    deployAfter: Math.round(random.next() ** 3 * 7_200_000),
    deployTakes: Math.round(random.next() * 300_000),
    throttle: some(0.05),
    loseRequest: some(0.03),
    loseAnswer: some(0.05),
    noRoom: some(0.1),
    habits: {
      dynamodb: {
        ...MOODY.dynamodb,
        ...(random.next() < 0.5 && { ttlLagMs: [0, 0] }),
        ...(random.next() < 0.3 && { indexLagMs: [0, 0] }),
      },
      queue: random.next() < 0.3 ? {} : MOODY.queue,
      scheduler: random.next() < 0.3 ? {} : MOODY.scheduler,
    },
  }
}
