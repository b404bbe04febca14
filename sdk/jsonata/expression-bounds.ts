import { isFunction } from './functions.ts'

/**
 * The bounds of one evaluation. They are counts, not times: a replay must hit a bound at the same place, on
 * any machine.
 */
export const MOST = {
  /** Characters of an expression, with the copies that JSONata's parser makes of parts of it. */
  parsed: 500_000,
  /** Nodes of the expression, each time one is evaluated. */
  steps: 200_000,
  /**
   * Evaluations begun and not ended: nested calls, and members of lists and objects, which are evaluated
   * concurrently.
   */
  underWay: 20_000,
  /** Calls of `$eval` begun and not ended. For each, JSONata has created a parser. */
  evals: 1_000,
  /** Items and characters that functions and operators go through, in units of a few nanoseconds. */
  work: 20_000_000,
  items: 300_000,
  characters: 1_000_000,
  /** Items and characters of a value with everything in it. A value at two places counts twice, as in JSON. */
  size: 5_000_000,
  levels: 500,
}

/** A bound that was exceeded, in words that continue "the expression … failed: ". */
export class ExpressionBoundError extends Error {
  override name = 'ExpressionBoundError'

  constructor(what: string) {
    super(`${what}. Let the expression do less, or do this in a handler or a worker`)
  }
}

export interface Measure {
  /** Values inside, itself included. */
  nodes: number
  characters: number
  /** Of the nodes, those that are reached through lists alone. */
  spread: number
  levels: number
}

const LEAF: Measure = { nodes: 1, characters: 0, spread: 1, levels: 0 }

/** Counts the cost of one evaluation. */
export class ExpressionBounds {
  private steps = 0
  private worked = 0
  private groupKeys = 0
  private evals = 0
  private readonly measures = new WeakMap<object, Measure>()
  private readonly scope: object
  private scopeSize: number | undefined

  constructor(scope: object) {
    this.scope = scope
  }

  step(underWay: number): void {
    if (++this.steps > MOST.steps) throw new ExpressionBoundError(`it takes more than ${MOST.steps} steps`)
    if (underWay > MOST.underWay)
      throw new ExpressionBoundError(
        `more than ${MOST.underWay} of its parts are under way at once, one within the other or side by side`,
      )
  }

  async eval<T>(evaluate: () => Promise<T>): Promise<T> {
    if (this.evals >= MOST.evals)
      throw new ExpressionBoundError(
        `more than ${MOST.evals} calls of $eval are under way at once, one within the other or side by side`,
      )
    this.evals++
    try {
      return await evaluate()
    } finally {
      this.evals--
    }
  }

  work(amount: number): void {
    this.worked += amount
    if (this.worked > MOST.work && this.worked > MOST.work + 10 * this.given())
      throw new ExpressionBoundError('it goes through too many items and characters')
  }

  /** The cost of appending to a list by copying: each item costs as much as there are. */
  groupKey(): void {
    this.work(++this.groupKeys >> 2)
  }

  text(length: number): void {
    if (length > MOST.characters && length > MOST.characters + 2 * this.given()) {
      throw new ExpressionBoundError(`it makes a text of ${length} characters, and ${MOST.characters} are allowed`)
    }
  }

  list(length: number): void {
    if (length > MOST.items)
      throw new ExpressionBoundError(`it makes a list of ${length} items, and ${MOST.items} are allowed`)
  }

  /** Checks a value that may be written out, compared or copied: with everything in it, it must not be too large. */
  whole(value: unknown): Measure {
    const measure = this.measure(value)
    const size = measure.nodes + measure.characters
    if (size > MOST.size && size > MOST.size + 2 * this.given())
      throw new ExpressionBoundError(`it makes a value of more than ${MOST.size} items and characters`)
    return measure
  }

  /** Measurements are cached, so measuring a value made of known parts costs only its members. */
  measure(value: unknown, above = 0): Measure {
    if (typeof value === 'string') return { ...LEAF, characters: value.length }
    if (typeof value !== 'object' || value === null || isFunction(value)) return LEAF
    const known = this.measures.get(value)
    if (known) return known
    const isList = Array.isArray(value)
    const members: unknown[] = isList ? value : Object.values(value)
    this.work(members.length)
    const total = { nodes: 1, characters: 0, spread: 1, levels: 0 }
    if (!isList) for (const key of Object.keys(value)) total.characters += key.length
    for (const member of members) {
      const part = this.measure(member, above + 1)
      total.nodes += part.nodes
      total.characters += part.characters
      if (isList) total.spread += part.spread
      total.levels = Math.max(total.levels, part.levels + 1)
    }
    if (total.levels > MOST.levels || above > MOST.levels)
      throw new ExpressionBoundError(`it makes a value of more than ${MOST.levels} levels, one within the other`)
    this.measures.set(value, total)
    return total
  }

  /** The size of the input, which may be large and may be passed on. Measured only when needed. */
  private given(): number {
    if (this.scopeSize === undefined) {
      // While it is being measured, it must not be measured again.
      this.scopeSize = Number.POSITIVE_INFINITY
      const { nodes, characters } = this.measure(this.scope)
      this.scopeSize = nodes + characters
    }
    return this.scopeSize
  }
}
