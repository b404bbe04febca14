import type { ExpressionBounds } from './expression-bounds.ts'
import { type BuiltIn, builtIn, type Chance, type Evaluation, type Focus, type Implementation } from './functions.ts'
import { assertParsable } from './parse-cost.ts'

/** How JSONata defines a function of its own. */
export interface Original {
  implementation: Implementation
  signature: { validate(args: unknown[], context: unknown): unknown[] }
}

/** What is charged before a function is called: after it would be too late. */
// biome-ignore lint/suspicious/noExplicitAny: each takes what its signature says
type Charge = (bounds: ExpressionBounds, ...args: any[]) => void

/** For having been called at all. */
const CALL = 10

const lengths: Charge = (bounds, ...args) => {
  for (const arg of args) if (typeof arg === 'string' || Array.isArray(arg)) bounds.work(arg.length)
}
const nothing: Charge = () => {}
const everything: Charge = (bounds, value) => {
  const { nodes, characters } = bounds.whole(value)
  bounds.work(nodes + characters)
}
const throughLists: Charge = (bounds, value) => bounds.work(bounds.measure(value).spread)
/** Texts that say how something is written are looked through again and again. */
const picture: Charge = (bounds, value, text) => {
  lengths(bounds, value)
  if (typeof text === 'string') bounds.work(text.length ** 2)
}

/** Every function that JSONata has: a test says so. */
export const CHARGES: Record<string, Charge> = {
  sum: lengths,
  count: nothing,
  max: lengths,
  min: lengths,
  average: lengths,
  string: (bounds, value, isPretty) => {
    if (typeof value === 'string') return
    const { nodes, characters, levels } = bounds.whole(value)
    const length = nodes * (isPretty === true ? 1 + 2 * levels : 1) + characters
    bounds.text(length)
    bounds.work(length)
  },
  substring: lengths,
  substringBefore: lengths,
  substringAfter: lengths,
  lowercase: lengths,
  uppercase: lengths,
  length: lengths,
  trim: lengths,
  pad: (bounds, text, width) => {
    const length = Math.max(text?.length ?? 0, Math.abs(width))
    bounds.text(length)
    bounds.work(length)
  },
  match: lengths,
  contains: lengths,
  replace: lengths,
  split: lengths,
  join: (bounds, texts, separator) => {
    if (!Array.isArray(texts)) return
    const { nodes, characters } = bounds.measure(texts)
    const length = characters + nodes * (separator?.length ?? 0)
    bounds.text(length)
    bounds.work(length)
  },
  formatNumber: picture,
  formatBase: nothing,
  formatInteger: picture,
  parseInteger: picture,
  number: lengths,
  floor: nothing,
  ceil: nothing,
  round: nothing,
  abs: nothing,
  sqrt: nothing,
  power: nothing,
  random: nothing,
  boolean: throughLists,
  not: throughLists,
  map: lengths,
  zip: lengths,
  filter: lengths,
  single: lengths,
  reduce: lengths,
  sift: nothing,
  keys: (bounds, value) => bounds.work(bounds.measure(value).nodes),
  lookup: throughLists,
  append: lengths,
  exists: nothing,
  // It puts the parts together one by one, each time in a new list.
  spread: (bounds, value) => bounds.work(bounds.measure(value).spread ** 2 / 16),
  merge: (bounds, value) => bounds.work(bounds.measure(value).nodes),
  reverse: lengths,
  each: nothing,
  error: nothing,
  assert: nothing,
  type: nothing,
  sort: (bounds, list) => {
    if (Array.isArray(list)) bounds.work(20 * (list.length + bounds.measure(list).characters / 16))
  },
  shuffle: lengths,
  // Each is compared with all that were found before.
  distinct: (bounds, list) => {
    if (!Array.isArray(list)) return
    const { nodes, characters } = bounds.measure(list)
    bounds.work((list.length * (nodes + characters / 64)) / 4)
  },
  base64encode: lengths,
  base64decode: lengths,
  encodeUrlComponent: lengths,
  encodeUrl: lengths,
  decodeUrlComponent: lengths,
  decodeUrl: lengths,
  eval: (bounds, text) => {
    if (text !== undefined) bounds.work(50 * assertParsable(text))
  },
  toMillis: (bounds, text, format) => {
    picture(bounds, text, format)
    if (typeof text === 'string' && typeof format === 'string') bounds.work(text.length ** softEnds(format))
  },
  fromMillis: picture,
  clone: everything,
}

/**
 * The same function, which checks its arguments and says what it is going to do. JSONata checks
 * them too, but not where a function is applied to some of them first.
 */
export function bounded(name: string, original: Original, evaluationOf: (base: object) => Evaluation): BuiltIn {
  const charge = CHARGES[name]!
  const { implementation } = {
    implementation(this: Focus, ...given: unknown[]): unknown {
      const { bounds, chance } = evaluationOf(this.environment.base)
      bounds.work(CALL)
      const args = validated(name, original, given, this.input)
      charge(bounds, ...args)
      if (name === 'shuffle') return shuffled(args[0], chance.random)
      if (name === 'sort' && args[1] === undefined && isOfOneKind(args[0])) return sorted(args[0])
      if (name === 'eval') return evaluated(bounds, () => original.implementation.apply(this, args) as Promise<unknown>)
      if (name === 'error' || name === 'assert') return original.implementation.apply(this, args.map(cut))
      return original.implementation.apply(this, name === 'replace' ? withChargedMatches(bounds, args) : args)
    },
  }
  // Both are how JSONata learns what arguments there are.
  Object.defineProperty(implementation, 'length', { value: original.implementation.length })
  Object.defineProperty(implementation, 'toString', { value: Object.freeze(() => original.implementation.toString()) })
  return builtIn(implementation)
}

/** The clock and the dice of the evaluation. Unlike JSONata's own, these take no arguments and mind none. */
export function ofChance(name: keyof Chance, evaluationOf: (base: object) => Evaluation): BuiltIn {
  const { implementation } = {
    implementation(this: Focus): unknown {
      const { bounds, chance } = evaluationOf(this.environment.base)
      bounds.work(CALL)
      return chance[name]()
    },
  }
  return builtIn(implementation)
}

function validated(name: string, { signature }: Original, given: unknown[], context: unknown): unknown[] {
  try {
    return signature.validate(given, context)
  } catch (error) {
    // JSONata would take the name from the function, where expressions could leave notes to each other.
    throw Object.assign(error as object, { token: name })
  }
}

/** Of the message of an error, in characters. */
const MOST_TOLD = 1_000

/** JSONata puts values where a message has their names in braces, for every such name in a message of the expression's own too. */
const cut = (value: unknown): unknown =>
  typeof value === 'string' && value.length > MOST_TOLD ? `${value.slice(0, MOST_TOLD)}…` : value

/** An expression in an expression quotes the error of the inner one, and escapes it, which doubles it each time. What went beyond a bound is told as it is. */
async function evaluated(bounds: ExpressionBounds, evaluate: () => Promise<unknown>): Promise<unknown> {
  try {
    return await bounds.eval(evaluate)
  } catch (thrown) {
    // JSONata throws plain objects: an Error is a bound's.
    const { value, error } = thrown as { value?: unknown; error?: { code?: string } }
    if (thrown instanceof Error) throw thrown
    throw error instanceof Error || error?.code === 'D2015' ? error : { ...(thrown as object), value: cut(value) }
  }
}

/** What can be put in order without a function that says how. */
function isOfOneKind(list: unknown): list is readonly (string | number)[] {
  return Array.isArray(list) && ['string', 'number'].some((kind) => list.every((item) => typeof item === kind))
}

/** JSONata's own way copies what is left for each item that it takes: a gigabyte for 20,000. With a function, its steps are the bound. */
const sorted = (list: readonly (string | number)[]): unknown[] => [...list].sort((a, b) => (a > b ? 1 : a < b ? -1 : 0))

/** With dice that fall again as they fell, unlike JSONata's. */
function shuffled(list: unknown, random: () => number): unknown {
  if (!Array.isArray(list)) return list
  const items = [...list]
  for (let i = items.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1))
    ;[items[i], items[other]] = [items[other], items[i]]
  }
  return items
}

type Matcher = { apply(self: unknown, args: unknown[]): unknown }
type Match = { next: Matcher } | undefined

/** The text that is put in is looked through for every match. */
function withChargedMatches(bounds: ExpressionBounds, [text, pattern, replacement, ...rest]: unknown[]): unknown[] {
  if (typeof replacement !== 'string') return [text, pattern, replacement, ...rest]
  if (typeof pattern === 'string') {
    let at = pattern === '' || typeof text !== 'string' ? -1 : text.indexOf(pattern)
    let length = 0
    for (; at !== -1; at = (text as string).indexOf(pattern, at + pattern.length)) {
      length += replacement.length
      bounds.work(CALL)
      bounds.text(length)
    }
    return [text, pattern, replacement, ...rest]
  }
  const charged = (matcher: Matcher): Matcher =>
    async function (this: unknown, ...args: unknown[]): Promise<Match> {
      const match = (await matcher.apply(this, args)) as Match
      if (match) bounds.work(5 * CALL + replacement.length)
      return match && { ...match, next: charged(match.next) }
    }
  return [text, charged(pattern as Matcher), replacement, ...rest]
}

/**
 * JSONata makes a JavaScript regular expression of a date's picture, which tries every way to part the text. This is how many ends
 * it may have to try beside each other. Only digits with something else behind them have one end. A name, a zone or words may end
 * anywhere; a zone has two parts.
 */
function softEnds(format: string): number {
  const markers = [...format.matchAll(/\[[^\]]*\]/g)]
  return markers.reduce((ends, marker, i) => {
    const [text] = marker
    if (!DIGITS.test(text)) return ends + (/^\[\s*z/i.test(text) ? 2 : 1)
    const next = markers[i + 1]
    const between = format.slice(marker.index + text.length, next?.index)
    const isOpen = next !== undefined && /^\d*$/.test(between) && !(between === '' && FIXED.test(text))
    return ends + (isOpen ? 1 : 0)
  }, 0)
}

/** A field that is written in digits, and one of them whose width the picture says. */
const DIGITS = /^\[\s*[YMDdHhmsfXxWw]\s*[\d#]*\s*(,.*)?\]$/
const FIXED = /^\[[^f]\s*[\d#]+(,.*)?\]$/
