/**
 * JavaScript's regular expressions as a tree. JavaScript's own parser has accepted the text, so this one only
 * has to detect what cannot be matched in one pass.
 */
export type Node =
  | { kind: 'empty' }
  | { kind: 'set'; ranges: readonly Range[]; isNegated?: true }
  | { kind: 'assertion'; what: 'start' | 'end' | 'word' | 'not word' }
  | { kind: 'sequence' | 'choice'; parts: Node[] }
  /** `first` and `last`: the groups inside, which every iteration resets. */
  | { kind: 'repeat'; body: Node; min: number; max: number; isLazy: boolean; first: number; last: number }
  | { kind: 'group'; index: number; body: Node }

/** Both ends count. */
export type Range = readonly [from: number, to: number]

export interface Syntax {
  root: Node
  groups: number
}

const LAST_UNIT = 0xffff
const DIGITS: Range[] = [[48, 57]]
const WORD: Range[] = [...DIGITS, [65, 90], [95, 95], [97, 122]]
const LINE_ENDS: Range[] = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
]
const SPACE: Range[] = [
  ...LINE_ENDS,
  [9, 9],
  [11, 12],
  [32, 32],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]
const CLASSES: Record<string, Range[]> = {
  d: DIGITS,
  w: WORD,
  s: SPACE,
  D: othersThan(DIGITS),
  W: othersThan(WORD),
  S: othersThan(SPACE),
}
const CONTROL: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13 }

/** Throws an error that names what is not supported. */
export function parseRegex(source: string): Syntax {
  const groups = countGroups(source)
  const hasNames = source.includes('(?<')
  let at = 0
  let index = 0

  const choice = (): Node => {
    const parts = [sequence()]
    while (source[at] === '|') {
      at++
      parts.push(sequence())
    }
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts }
  }

  const sequence = (): Node => {
    const parts: Node[] = []
    while (at < source.length && source[at] !== '|' && source[at] !== ')') parts.push(repeated())
    return parts.length === 0 ? { kind: 'empty' } : parts.length === 1 ? parts[0]! : { kind: 'sequence', parts }
  }

  const repeated = (): Node => {
    const first = index + 1
    const body = atom()
    const [min, max] = count() ?? []
    if (min === undefined) return body
    const isLazy = source[at] === '?'
    if (isLazy) at++
    return { kind: 'repeat', body, min, max: max!, isLazy, first, last: index }
  }

  const count = (): [number, number] | undefined => {
    const char = source[at]
    if (char === '*' || char === '+' || char === '?') at++
    if (char === '*') return [0, Number.POSITIVE_INFINITY]
    if (char === '+') return [1, Number.POSITIVE_INFINITY]
    if (char === '?') return [0, 1]
    const braces = char === '{' && /^\{(\d+)(,(\d*))?\}/.exec(source.slice(at, at + 50))
    if (!braces) return undefined
    at += braces[0].length
    const min = Number(braces[1])
    return [min, braces[2] === undefined ? min : braces[3] === '' ? Number.POSITIVE_INFINITY : Number(braces[3])]
  }

  const atom = (): Node => {
    const char = source[at++]!
    if (char === '^') return { kind: 'assertion', what: 'start' }
    if (char === '$') return { kind: 'assertion', what: 'end' }
    if (char === '.') return { kind: 'set', ranges: LINE_ENDS, isNegated: true }
    if (char === '(') return group()
    if (char === '[') return set()
    if (char !== '\\') return single(char.charCodeAt(0))
    if (source[at] === 'b' || source[at] === 'B')
      return { kind: 'assertion', what: source[at++] === 'b' ? 'word' : 'not word' }
    if (refersBack()) throw new Error('it refers back to a group, which cannot be matched in one pass')
    return { kind: 'set', ranges: escaped() }
  }

  const refersBack = (): boolean => {
    if (source[at] === 'k') return hasNames
    const number = /^[1-9]\d*/.exec(source.slice(at, at + 10))?.[0]
    return number !== undefined && Number(number) <= groups
  }

  const group = (): Node => {
    let node: Node
    if (source[at] !== '?') {
      const own = ++index
      node = { kind: 'group', index: own, body: choice() }
    } else if (source[at + 1] === ':') {
      at += 2
      node = choice()
    } else if (source[at + 1] === '<' && source[at + 2] !== '=' && source[at + 2] !== '!') {
      at = source.indexOf('>', at) + 1
      const own = ++index
      node = { kind: 'group', index: own, body: choice() }
    } else if ('=!<'.includes(source[at + 1]!))
      throw new Error('it looks ahead or behind, which cannot be matched in one pass')
    else throw new Error('it changes flags within, which is not supported here; put them after the last slash')
    at++
    return node
  }

  const set = (): Node => {
    const isNegated = source[at] === '^'
    if (isNegated) at++
    const ranges: Range[] = []
    while (source[at] !== ']') {
      const from = member()
      const isRange = source[at] === '-' && source[at + 1] !== ']'
      if (!isRange) {
        ranges.push(...from)
        continue
      }
      at++
      const to = member()
      // `[\w-x]`: with a class at either end the hyphen is itself.
      if (isSingle(from) && isSingle(to)) ranges.push([from[0]![0], to[0]![0]])
      else ranges.push(...from, [45, 45], ...to)
    }
    at++
    return { kind: 'set', ranges, ...(isNegated && { isNegated }) }
  }

  const member = (): readonly Range[] => {
    const char = source[at++]!
    if (char !== '\\') return units(char.charCodeAt(0))
    if (source[at] === 'b') {
      at++
      return units(8)
    }
    return escaped()
  }

  /** What comes after a backslash. */
  const escaped = (): readonly Range[] => {
    const char = source[at++]!
    if (Object.hasOwn(CLASSES, char)) return CLASSES[char]!
    if (Object.hasOwn(CONTROL, char)) return units(CONTROL[char]!)
    const octal = /^([0-3][0-7]{0,2}|[4-7][0-7]?)/.exec(source.slice(at - 1, at + 2))?.[0]
    if (octal) {
      at += octal.length - 1
      return units(Number.parseInt(octal, 8))
    }
    const hex =
      char === 'x'
        ? /^[\da-f]{2}/i.exec(source.slice(at, at + 2))
        : char === 'u'
          ? /^[\da-f]{4}/i.exec(source.slice(at, at + 4))
          : null
    if (hex) {
      at += hex[0].length
      return units(Number.parseInt(hex[0], 16))
    }
    if (char === 'c' && /[a-z]/i.test(source[at] ?? '')) return units(source.charCodeAt(at++) % 32)
    if (char === 'c') {
      // `\c` and no letter: the backslash is itself.
      at--
      return units(92)
    }
    return units(char.charCodeAt(0))
  }

  return { root: choice(), groups }
}

/** Groups count from where they open, and one may be referred to before that. */
function countGroups(source: string): number {
  const outsideSets = source.replace(/\\[\s\S]/g, 'x').replace(/\[[^\]]*\]/g, 'x')
  return [...outsideSets.matchAll(/\((?!\?)|\(\?<(?![=!])/g)].length
}

const units = (unit: number): Range[] => [[unit, unit]]
const single = (unit: number): Node => ({ kind: 'set', ranges: units(unit) })
const isSingle = (ranges: readonly Range[]): boolean => ranges.length === 1 && ranges[0]![0] === ranges[0]![1]

/** Of all units, those in none of the ranges. */
export function othersThan(ranges: readonly Range[]): Range[] {
  const left: Range[] = []
  let next = 0
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    if (from > next) left.push([next, from - 1])
    next = to + 1
  }
  if (next <= LAST_UNIT) left.push([next, LAST_UNIT])
  return left
}
