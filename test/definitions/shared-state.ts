import jsonata from 'jsonata'
import { CHARGES } from '../../sdk/jsonata/bounded-functions.ts'
import { builtIns } from '../../sdk/jsonata/bounded-jsonata.ts'
import { MOST } from '../../sdk/jsonata/expression-bounds.ts'

/** What all expressions of a process have in common. */
export const SHARED: unknown[] = [[...builtIns()], [...jsonatasOwn()], jsonata, CHARGES, MOST]

/** What of JavaScript itself an expression might get hold of. */
export const INTRINSICS: unknown[] = [
  ...[
    Object,
    Function,
    Array,
    String,
    Number,
    Boolean,
    Symbol,
    RegExp,
    Date,
    Promise,
    Map,
    Set,
    WeakMap,
    Error,
    TypeError,
    RangeError,
  ],
  JSON,
  Math,
  Reflect,
  Object.getPrototypeOf(async () => {}),
  Object.getPrototypeOf([][Symbol.iterator]()),
]

/** JSONata's functions as it keeps them itself. */
function jsonatasOwn(): Map<string, unknown> {
  const found = new Map<string, unknown>()
  const program = jsonata('0')
  program.assign(
    Symbol.for('jsonata.__evaluate_entry') as unknown as string,
    (_node: unknown, _input: unknown, env: { lookup(name: string): unknown }) => {
      for (const name of Object.keys(CHARGES)) found.set(name, env.lookup(name))
    },
  )
  void program.evaluate(undefined)
  return found
}

/** Everything that can be reached from there, as lines: objects by number, with prototype, keys and values. Of `known` objects only which they are. */
export function deepSnapshot(roots: unknown[], known: ReadonlySet<object> = new Set()): string[] {
  const objects = reachable(roots, known)
  const numbers = new Map([...objects].map((object, number) => [object, number]))
  const named = (value: unknown): string =>
    isObject(value) ? `#${numbers.get(value)}` : `${typeof value} ${String(value)}`
  return [...objects].map((object) => {
    if (known.has(object)) return named(object)
    const members = keysOf(object).map((key) => {
      const { value, get, set, ...flags } = Object.getOwnPropertyDescriptor(object, key)!
      return `${String(key)}: ${[value, get, set].map(named).join(' ')} ${JSON.stringify(flags)}`
    })
    return `${named(object)} of ${named(Object.getPrototypeOf(object))} ${Object.isExtensible(object)} { ${members.join(', ')} }`
  })
}

export function reachable(roots: unknown[], known: ReadonlySet<object> = new Set()): Set<object> {
  const found = new Set<object>(roots.filter(isObject))
  // The set grows while it is gone through.
  for (const object of found) {
    if (known.has(object)) continue
    const members = keysOf(object).map((key) => Object.getOwnPropertyDescriptor(object, key)!)
    for (const part of [Object.getPrototypeOf(object), ...members.flatMap(({ value, get, set }) => [value, get, set])])
      if (isObject(part)) found.add(part)
  }
  return found
}

/** Without what JavaScript works out anew for each call of an old-style function. */
const keysOf = (object: object): (string | symbol)[] =>
  Reflect.ownKeys(object).filter((key) => key !== 'caller' && key !== 'arguments')

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'
