/**
 * A copy of the input for one expression. JSONata writes to values that it reads: an object that is called
 * gets a `token`, an empty list that is grouped gets an item. The values belong to the run and to other
 * expressions, so JSONata gets copies.
 *
 * The members of the outermost two levels (`steps`, and each step in it) are copied when they are
 * first read. An expression about one step does not pay for the outputs of all the others.
 */
export const ownCopy = (value: unknown): unknown => copy(value, 2)

/** JSONata recognises its functions by these members. Plain data must not pass for a function. */
const MARKS: ReadonlySet<string> = new Set(['_jsonata_function', '_jsonata_lambda'])

function copy(value: unknown, lazyLevels: number): unknown {
  if (typeof value === 'function') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => copy(item, 0))
  if (!isPlain(value)) return foreign(value)
  // Without a prototype `__proto__` is a key like any other.
  const own = Object.create(null) as Record<string, unknown>
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key]
    if (MARKS.has(key) && member === true) continue
    if (lazyLevels > 0 && typeof member === 'object' && member !== null) copyWhenRead(own, key, member, lazyLevels - 1)
    else own[key] = copy(member, 0)
  }
  return own
}

function copyWhenRead(own: object, key: string, member: object, lazyLevels: number): void {
  const settle = (value: unknown) => {
    Object.defineProperty(own, key, { value, writable: true, enumerable: true, configurable: true })
    return value
  }
  Object.defineProperty(own, key, {
    get: () => settle(copy(member, lazyLevels)),
    set: settle,
    enumerable: true,
    configurable: true,
  })
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** Dates, maps and the like. A value that cannot be copied becomes its JSON form. */
function foreign(value: object): unknown {
  try {
    const clone: unknown = structuredClone(value)
    return isPlain(clone as object) ? copy(clone, 0) : clone
  } catch {
    return copy(JSON.parse(JSON.stringify(value) ?? 'null'), 0)
  }
}
