import { compileRegex, type Program } from './program.ts'

/** Positions by slot: where groups begin and end. Never changed, because several threads share one. */
type Slots = readonly (number | undefined)[]

interface Way {
  at: number
  slots: Slots
}

/** The cost of starting a match, in units of work: many matches in one text are not free. */
const START = 50

const compiled = new WeakMap<RegExp, Program>()

/**
 * Matches as JavaScript's `RegExp` does, in time linear in text and expression: all threads through the
 * expression advance together, one character at a time, and two threads at the same place become one. The
 * price: no lookaround and no backreferences.
 *
 * Ours, because re2js, the one maintained engine of this kind for JavaScript, is larger than all of JSONata;
 * and because this one counts its work. A replay must hit a bound at the same place, which a clock cannot
 * ensure.
 */
export class LinearRegex {
  lastIndex = 0
  private readonly program: Program
  private readonly charge: (work: number) => void

  constructor(regex: RegExp, charge: (work: number) => void = () => {}) {
    this.program = programOf(regex)
    this.charge = charge
  }

  /**
   * An expression may call its regular expressions with any value. Like JavaScript's own, this begins at 0
   * where `lastIndex` is invalid.
   */
  exec(text: unknown): RegExpExecArray | null {
    if (typeof text !== 'string') return null
    const slots = this.search(text, Math.max(Math.trunc(Number(this.lastIndex)) || 0, 0))
    this.lastIndex = slots?.[1] ?? 0
    if (!slots) return null
    const groups = Array.from({ length: this.program.groups + 1 }, (_, i) => {
      const [start, end] = [slots[2 * i], slots[2 * i + 1]]
      return start === undefined || end === undefined ? undefined : text.slice(start, end)
    })
    return Object.assign(groups as [string], { index: slots[0]!, input: text }) as RegExpExecArray
  }

  /** The leftmost match from there on, and of several the one that JavaScript prefers. */
  private search(text: string, from: number): Slots | undefined {
    const { instructions, groups } = this.program
    const nothing: Slots = new Array<undefined>(2 * (groups + 1)).fill(undefined)
    /**
     * The position at which a place was last reached: with an empty iteration, and with a non-empty one. They
     * end differently, so they are two entries.
     */
    const seen = new Int32Array(2 * instructions.length).fill(-1)
    let work = START + instructions.length
    let found: Slots | undefined
    let ways: Way[] = []

    const follow = (at: number, position: number, slots: Slots, hasTaken: boolean, next: Way[]): void => {
      const place = 2 * at + Number(hasTaken)
      if (seen[place] === position) return
      seen[place] = position
      work++
      const instruction = instructions[at]!
      switch (instruction.kind) {
        case 'jump':
          return follow(instruction.to, position, slots, hasTaken, next)
        case 'split':
          follow(instruction.first, position, slots, hasTaken, next)
          return follow(instruction.second, position, slots, hasTaken, next)
        case 'save':
          work += slots.length >> 3
          return follow(at + 1, position, slots.with(instruction.slot, position), hasTaken, next)
        case 'forget':
          work += slots.length >> 3
          return follow(at + 1, position, without(slots, instruction), hasTaken, next)
        case 'turn':
          return follow(at + 1, position, slots, false, next)
        case 'end':
          if (hasTaken) follow(at + 1, position, slots, true, next)
          return
        case 'assertion':
          if (this.holds(instruction.what, text, position)) follow(at + 1, position, slots, hasTaken, next)
          return
        default:
          next.push({ at, slots })
      }
    }

    for (let position = from; position <= text.length; position++) {
      if (!found) follow(0, position, nothing, false, ways)
      if (ways.length === 0 && found) break
      const next: Way[] = []
      const unit = text.charCodeAt(position)
      // From here on `seen` is about the next position, reached by this character.
      for (const way of ways) {
        const instruction = instructions[way.at]!
        if (instruction.kind === 'match') {
          found = way.slots
          // The remaining threads have a lower preference than this match.
          break
        }
        if (instruction.kind !== 'set') continue
        work += instruction.characters.cost
        if (position < text.length && instruction.characters.has(unit))
          follow(way.at + 1, position + 1, way.slots, true, next)
      }
      ways = next
      this.charge(work)
      work = 0
    }
    return found
  }

  private holds(what: 'start' | 'end' | 'word' | 'not word', text: string, position: number): boolean {
    switch (what) {
      case 'start':
        return position === 0 || (this.program.isMultiline && isLineEnd(text.charCodeAt(position - 1)))
      case 'end':
        return position === text.length || (this.program.isMultiline && isLineEnd(text.charCodeAt(position)))
      default:
        return (isWord(text.charCodeAt(position - 1)) !== isWord(text.charCodeAt(position))) === (what === 'word')
    }
  }
}

function programOf(regex: RegExp): Program {
  let program = compiled.get(regex)
  if (!program) {
    try {
      program = compileRegex(regex)
    } catch (error) {
      throw new Error(`the regular expression /${regex.source}/ cannot be used: ${(error as Error).message}`)
    }
    compiled.set(regex, program)
  }
  return program
}

function without(slots: Slots, { from, to }: { from: number; to: number }): Slots {
  return slots.map((position, i) => (i >= from && i <= to ? undefined : position))
}

const isWord = (unit: number): boolean =>
  (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || unit === 95 || (unit >= 97 && unit <= 122)
const isLineEnd = (unit: number): boolean => unit === 10 || unit === 13 || unit === 0x2028 || unit === 0x2029
