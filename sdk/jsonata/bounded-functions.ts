import type { ExpressionBounds } from './expression-bounds.ts'
import { type BuiltIn, builtIn, type Chance, type Evaluation, type Focus, type Implementation } from './functions.ts'
import { assertParsable } from './parse-cost.ts'

/** How JSONata defines a function of its own. */
export interface Original {
  implementation: Implementation
  signature: { validate(args: unknown[], context: unknown): unknown[] }
}

/** The cost that is charged before a function is called: afterwards it would be too late. */
// biome-ignore lint/suspicious/noExplicitAny: each takes what its signature says
type Charge = (bounds: ExpressionBounds, ...args: any[]) => void

/** The cost of any call. */
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
/** A format picture is scanned again and again. */
const picture: Charge = (bounds, value, text) => {
  lengths(bounds, value)
  if (typeof text === 'string') bounds.work(text.length ** 2)
}

/** Every function of JSONata; a test checks that the list is complete. */
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
  // It appends the parts one by one, each time to a new list.
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
  // Each item is compared with all distinct ones before it.
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
 * The same function, which checks its arguments and charges its cost first. JSONata checks arguments too, but
 * not for a partially applied function.
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
  // JSONata learns the arguments from these two.
  Object.defineProperty(implementation, 'length', { value: original.implementation.length })
  Object.defineProperty(implementation, 'toString', { value: Object.freeze(() => original.implementation.toString()) })
  return builtIn(implementation)
}

/** The clock and random numbers of the evaluation. Unlike JSONata's own, they ignore arguments. */
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
    // JSONata would take the name from the function, where expressions could store data for each other.
    throw Object.assign(error as object, { token: name })
  }
}

/** The most characters of an error's message. */
const MOST_TOLD = 1_000

/** JSONata replaces names in braces in a message by values, also in messages that the expression itself made. */
const cut = (value: unknown): unknown =>
  typeof value === 'string' && value.length > MOST_TOLD ? `${value.slice(0, MOST_TOLD)}…` : value

/**
 * `$eval` quotes and escapes the error of the inner expression, which doubles it at each level. A bound's
 * error is passed on as it is.
 */
async function evaluated(bounds: ExpressionBounds, evaluate: () => Promise<unknown>): Promise<unknown> {
  try {
    return await bounds.eval(evaluate)
  } catch (thrown) {
    // JSONata throws plain objects; only a bound throws an Error.
    const { value, error } = thrown as { value?: unknown; error?: { code?: string } }
    if (thrown instanceof Error) throw thrown
    throw error instanceof Error || error?.code === 'D2015' ? error : { ...(thrown as object), value: cut(value) }
  }
}

/** A list that can be sorted without a comparison function. */
function isOfOneKind(list: unknown): list is readonly (string | number)[] {
  return Array.isArray(list) && ['string', 'number'].some((kind) => list.every((item) => typeof item === kind))
}

/**
 * JSONata's merge sort copies the rest for each item: a gigabyte for 20,000 items. With a comparison
 * function, its steps are bounded.
 */
const sorted = (list: readonly (string | number)[]): unknown[] => [...list].sort((a, b) => (a > b ? 1 : a < b ? -1 : 0))

/** With the evaluation's random numbers, which repeat on replay, unlike JSONata's. */
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

/** The replacement text is scanned for every match. */
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
 * JSONata turns a date's picture into a JavaScript regular expression, which backtracks. This is how many
 * ends it may have to try in combination. Only digits that are followed by something else have one end. A
 * name, a zone or words may end anywhere; a zone has two parts.
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

/** A field in digits, and one whose width the picture fixes. */
const DIGITS = /^\[\s*[YMDdHhmsfXxWw]\s*[\d#]*\s*(,.*)?\]$/
const FIXED = /^\[[^f]\s*[\d#]+(,.*)?\]$/
