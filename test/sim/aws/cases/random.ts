import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { SeededRandom } from '../../../../sdk/base/random.ts'
import { type Attributes, b, bs, type Case, list, map, n, nil, no, ns, s, ss, yes } from './case.ts'

/**
 * Cases nobody has thought of: mostly in order, sometimes nonsense, always the same for the same number. Where several things are
 * wrong at once, which of them is named first is left open.
 */
export function randomCase(number: number): Case {
  return new Generator(number).case()
}

const NAMES = ['a', 'b', 'c', 'd']
/** Whole ones: DynamoDB Local, unlike AWS, leaves zeros behind the fractions it makes. */
const NUMBERS = ['0', '1', '-1', '2', '3', '10', '1000', '-250', '99999999999999999999', '100000000000000000000000']
const TEXTS = ['', 'x', 'xy', 'xyz', 'é', '10', 'S', 'N']

class Generator {
  private readonly number: number
  private readonly random: SeededRandom
  private values: Attributes = {}
  private names: Record<string, string> = {}
  private readonly targets = [...NAMES, 'e', 'f']

  constructor(number: number) {
    this.number = number
    this.random = new SeededRandom(`case ${number}`)
  }

  case(): Case {
    const item = this.chance(0.9) ? this.attributes(2) : undefined
    const isUpdate = this.chance(0.5)
    const text = isUpdate ? this.update() : this.condition(2)
    const condition = isUpdate && this.chance(0.3) ? this.condition(1) : undefined
    return {
      name: `${this.number}: ${text}${condition === undefined ? '' : ` if ${condition}`}`,
      call: isUpdate ? 'update' : 'delete',
      ...(item && { item }),
      ...(isUpdate ? { update: text, returns: 'ALL_NEW' as const } : { condition: text }),
      ...(condition !== undefined && { condition }),
      ...(Object.keys(this.values).length > 0 && { values: this.values }),
      ...(Object.keys(this.names).length > 0 && { names: this.names }),
    }
  }

  /** Now and then an operand of any kind, which may be refused; usually one that fits. */
  private condition(depth: number): string {
    if (depth > 0 && this.chance(0.5)) {
      const part = () => this.condition(depth - 1)
      return this.pick([
        () => `${part()} AND ${part()}`,
        () => `${part()} OR ${part()}`,
        () => `${part()} AND NOT (${part()})`,
        () => `NOT ${part()}`,
        () => `(${part()} OR ${part()})`,
      ])()
    }
    const operand = () => this.operand()
    const ordered = () =>
      this.chance(0.1)
        ? operand()
        : this.value(this.pick([n(this.pick(NUMBERS)), s(this.pick(TEXTS)), b(this.pick(TEXTS))]))
    const text = () => (this.chance(0.1) ? operand() : this.value(s(this.pick(TEXTS))))
    return this.pick([
      () => `${this.path()} ${this.pick(['=', '<>'])} ${operand()}`,
      () => `${this.path()} ${this.pick(['<', '<=', '>', '>='])} ${ordered()}`,
      () => `${ordered()} ${this.pick(['<', '<=', '>', '>='])} ${this.path()}`,
      () => `${this.path()} BETWEEN ${this.value(n(this.below(3)))} AND ${this.value(n(this.below(9) + 2))}`,
      () => `${ordered()} BETWEEN ${operand()} AND ${this.path()}`,
      () => `${this.path()} IN (${operand()}, ${operand()})`,
      () => `attribute_exists(${this.path()})`,
      () => `attribute_not_exists(${this.path()})`,
      () =>
        `attribute_type(${this.path()}, ${this.value(s(this.pick(['S', 'N', 'L', 'M', 'SS', 'NS', 'B', 'BOOL', 'NULL'])))})`,
      () => `begins_with(${this.path()}, ${text()})`,
      () => `contains(${this.path()}, ${operand()})`,
      () => `size(${this.path()}) ${this.pick(['=', '<', '>='])} ${this.value(n(this.below(4)))}`,
    ])()
  }

  private update(): string {
    const sections = ['SET', 'REMOVE', 'ADD', 'DELETE'].filter(() => this.chance(0.4))
    if (sections.length === 0) sections.push('SET')
    return sections
      .map(
        (section) => `${section} ${Array.from({ length: this.below(2) + 1 }, () => this.action(section)).join(', ')}`,
      )
      .join(' ')
  }

  private action(section: string): string {
    if (section === 'SET') return `${this.target()} = ${this.term()}`
    if (section === 'REMOVE') return this.target()
    return `${this.target()} ${this.value(this.pick([ss('x', 'new'), ns(1, 5), n(this.pick(NUMBERS)), bs('x')]))}`
  }

  private term(): string {
    const simple = () => (this.chance(0.5) ? this.path() : this.value(this.scalarOrList()))
    return this.pick([
      simple,
      simple,
      () => `${this.path()} + ${this.value(n(this.pick(NUMBERS)))}`,
      () => `${this.value(n(this.pick(NUMBERS)))} - ${this.path()}`,
      () => `if_not_exists(${this.path()}, ${simple()})`,
      () => `if_not_exists(${this.path()}, ${this.value(n(1))}) + ${this.value(n(this.pick(NUMBERS)))}`,
      () => `list_append(${this.path()}, ${this.value(list(n(1), s('x')))})`,
      () => `list_append(if_not_exists(${this.path()}, ${this.value(list())}), ${simple()})`,
    ])()
  }

  /** Of an attribute that nothing else in the update changes, most of the time. */
  private target(): string {
    const free = this.targets
    if (free.length === 0 || this.chance(0.03)) return this.path()
    const [name] = free.splice(this.below(free.length), 1)
    return `${name}${this.pick(['', '', '', '', '.a', '.b', '[0]', '[1]'])}`
  }

  private operand(): string {
    return this.chance(0.5) ? this.path() : this.value(this.anyValue(1))
  }

  private path(): string {
    const first = this.name()
    return first + this.pick(['', '', '', '.a', '.b', '[0]', '[1]', '.a[0]'])
  }

  private name(): string {
    const name = this.pick(NAMES)
    if (this.chance(0.7)) return name
    this.names[`#${name}`] = name
    return `#${name}`
  }

  private value(value: AttributeValue): string {
    const placeholder = `:v${Object.keys(this.values).length}`
    this.values[placeholder] = value
    return placeholder
  }

  private attributes(depth: number): Attributes {
    return Object.fromEntries(NAMES.filter(() => this.chance(0.7)).map((name) => [name, this.anyValue(depth)]))
  }

  private scalarOrList(): AttributeValue {
    return this.pick([
      n(this.pick(NUMBERS)),
      n(this.pick(NUMBERS)),
      s(this.pick(TEXTS)),
      list(n(1), s('x')),
      map({ a: n(1) }),
    ])
  }

  private anyValue(depth: number): AttributeValue {
    const flat = [
      n(this.pick(NUMBERS)),
      n(this.pick(NUMBERS)),
      s(this.pick(TEXTS)),
      s(this.pick(TEXTS)),
      b(this.pick(TEXTS)),
      yes,
      no,
      nil,
      ss('x', 'y'),
      ns(1, 2),
      bs('x'),
    ]
    if (depth === 0 || this.chance(0.5)) return this.pick(flat)
    return this.chance(0.5)
      ? list(...Array.from({ length: this.below(3) }, () => this.anyValue(depth - 1)))
      : map(this.attributes(depth - 1))
  }

  private pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!
  }

  private below(limit: number): number {
    return Math.floor(this.random.next() * limit)
  }

  private chance(probability: number): boolean {
    return this.random.next() < probability
  }
}
