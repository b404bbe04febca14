import { othersThan, type Range } from './syntax.ts'

/**
 * The characters that match one place of a regular expression. Ranges are sorted and merged once, so that a
 * look-up takes a few comparisons however many there are.
 */
export class CharacterSet {
  /** The cost of a look-up, in units of work. */
  readonly cost: number
  private readonly isCaseless: boolean
  /** Starts and ends of ranges, alternating; the ends are exclusive. */
  private readonly bounds: Uint32Array

  constructor(ranges: readonly Range[], isNegated: boolean, isCaseless: boolean) {
    const cased = isCaseless ? canonical(merged(ranges)) : merged(ranges)
    const taken = isNegated ? othersThan(cased) : cased
    this.isCaseless = isCaseless
    this.bounds = Uint32Array.from(taken.flatMap(([from, to]) => [from, to + 1]))
    this.cost = 1 + (Math.log2(this.bounds.length + 1) >> 2)
  }

  has(unit: number): boolean {
    const wanted = this.isCaseless ? canonicalUnits()[unit]! : unit
    let below = 0
    let above = this.bounds.length
    while (below < above) {
      const middle = (below + above) >> 1
      if (this.bounds[middle]! <= wanted) below = middle + 1
      else above = middle
    }
    // The position is inside a range if the last bound before it is a start.
    return below % 2 === 1
  }
}

function merged(ranges: readonly Range[]): Range[] {
  const found: [number, number][] = []
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    const last = found.at(-1)
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else found.push([from, to])
  }
  return found
}

/** The set with the canonical form of each member: a character is in it if its own canonical form is. */
function canonical(ranges: readonly Range[]): Range[] {
  const units = canonicalUnits()
  const cased = unitsWithCase()
  const found: Range[] = [...ranges]
  for (const [from, to] of ranges) {
    for (let i = firstAtLeast(cased, from); i < cased.length && cased[i]! <= to; i++)
      found.push([units[cased[i]!]!, units[cased[i]!]!])
  }
  return merged(found)
}

/** The cost of a set in a regular expression with `/i`, in parts of a program. */
export function costOfCase(ranges: readonly Range[]): number {
  const cased = unitsWithCase()
  const covered = ranges.reduce((sum, [from, to]) => sum + firstAtLeast(cased, to + 1) - firstAtLeast(cased, from), 0)
  return Math.floor(covered / 20)
}

let everyUnit: Uint16Array | undefined
let withCase: number[] | undefined

/**
 * What ECMAScript calls Canonicalize, for `/i` without `/u`: upper case, where that is one unit,
 * and never from outside ASCII to inside.
 */
function canonicalUnits(): Uint16Array {
  everyUnit ??= Uint16Array.from({ length: 0x10000 }, (_, unit) => {
    const upper = String.fromCharCode(unit).toUpperCase()
    const code = upper.charCodeAt(0)
    return upper.length !== 1 || (unit >= 128 && code < 128) ? unit : code
  })
  return everyUnit
}

/** The units that are not canonical themselves, in order. */
function unitsWithCase(): number[] {
  withCase ??= [...canonicalUnits().entries()].filter(([unit, form]) => unit !== form).map(([unit]) => unit)
  return withCase
}

function firstAtLeast(sorted: readonly number[], wanted: number): number {
  let below = 0
  let above = sorted.length
  while (below < above) {
    const middle = (below + above) >> 1
    if (sorted[middle]! < wanted) below = middle + 1
    else above = middle
  }
  return below
}
