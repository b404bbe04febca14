import type { BoundedExpression } from './bounded-jsonata.ts'
import { assertParsable } from './parse-cost.ts'

/** Characters of all expressions together. A parsed expression takes some 50 bytes for each character. */
const MOST_KEPT = 500_000
/** The fixed cost of an expression, in characters: its own table of the functions. */
const FIXED = 100

/** A cache of parsed expressions. The least recently used one is evicted first. */
export class RecentPrograms {
  private readonly programs = new Map<string, { program: BoundedExpression; size: number }>()
  private readonly parse: (expression: string) => BoundedExpression
  private total = 0

  constructor(parse: (expression: string) => BoundedExpression) {
    this.parse = parse
  }

  programOf(expression: string): BoundedExpression {
    const kept = this.programs.get(expression)
    const { program, size } = kept ?? { program: this.parse(expression), size: FIXED + assertParsable(expression) }
    if (size > MOST_KEPT) return program
    this.programs.delete(expression)
    this.programs.set(expression, { program, size })
    if (!kept) this.total += size
    for (const [oldest, { size }] of this.programs) {
      if (this.total <= MOST_KEPT) break
      this.programs.delete(oldest)
      this.total -= size
    }
    return program
  }

  /** How many characters are kept. */
  get size(): number {
    return this.total
  }
}
