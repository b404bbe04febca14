import { SeededRandom } from '../../sdk/base/random.ts'

/** Trouble is bounded, so that every run can end: after so many blows the world is kind. */
export const MOST_BLOWS = 25

/** What a cloud leaves to chance: all of it from the seed, and not for ever. */
export class Fortune {
  private readonly random: SeededRandom
  blows = 0
  private isCalm = false

  constructor(seed: string) {
    this.random = new SeededRandom(seed)
  }

  strikes(probability: number): boolean {
    if (probability === 0 || this.isCalm || this.blows >= MOST_BLOWS || this.random.next() >= probability) return false
    this.blows++
    return true
  }

  /** Nothing strikes any more, however few blows there were. */
  calm(): void {
    this.isCalm = true
  }

  /** Whole milliseconds up to so many. */
  within(ms: number): number {
    return ms === 0 ? 0 : Math.round(this.random.next() * ms)
  }

  between(least: number, most: number): number {
    return least + this.within(most - least)
  }

  /** On either side of nothing. */
  skew(ms: number): number {
    return ms === 0 ? 0 : Math.round((this.random.next() - 0.5) * ms)
  }

  isHeads(probability = 0.5): boolean {
    return this.random.next() < probability
  }
}
