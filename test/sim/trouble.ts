import type { SeededRandom } from '../../sdk/engine/random.ts'

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
}

export const NO_TROUBLE: Trouble = { crash: 0, stall: 0, loseWake: 0, repeatWake: 0, lateWake: 0, latency: 0, skew: 0 }

export function generateTrouble(random: SeededRandom): Trouble {
  const some = (most: number) => (random.next() < 0.4 ? 0 : random.next() * most)
  return {
    crash: some(0.12),
    stall: some(0.1),
    loseWake: some(0.3),
    repeatWake: some(0.5),
    lateWake: some(0.3),
    latency: random.next() < 0.3 ? 0 : Math.round(random.next() * 800),
    skew: random.next() < 0.3 ? 2_000 : 0,
  }
}

/** Trouble is bounded, so that every run can end: after so many blows the world is kind. */
export const MOST_BLOWS = 25
