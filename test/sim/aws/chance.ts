import type { SeededRandom } from '../../../sdk/base/random.ts'

/** From the one to the other, evenly. */
export type Range = readonly [least: number, most: number]

export const NEVER = 0

/** What the services leave to chance, all of it from one seed. */
export class Chance {
  private readonly random: SeededRandom

  constructor(random: SeededRandom) {
    this.random = random
  }

  /** Certain and impossible cost no number, so that a habit that is switched off changes nothing else. */
  strikes(probability: number): boolean {
    if (probability <= NEVER) return false
    return probability >= 1 || this.random.next() < probability
  }

  /** In whole units. */
  within([least, most]: Range): number {
    return most <= least ? least : least + Math.floor(this.random.next() * (most - least + 1))
  }

  uuid(): string {
    return this.random.uuid()
  }
}
