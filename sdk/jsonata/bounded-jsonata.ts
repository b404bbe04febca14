import jsonata from 'jsonata'
import { type BuiltIn, CHARGES, withCharge } from './bounded-functions.ts'
import { ExpressionBoundError, ExpressionBounds, MOST } from './expression-bounds.ts'
import { LinearRegex } from './regex/linear-regex.ts'

/**
 * JSONata, bounded. It has hooks that are called before and after every node; what a node made is weighed there, and what operators are about to do with it
 * is charged. Functions charge for themselves, and regular expressions are matched by an engine that does.
 */

/** As much of JSONata's tree as is looked at. */
interface Node {
  type: string
  value?: unknown
  lhs?: Node | [Node, Node][]
  rhs?: Node
  condition?: Node
  body?: Node
  expression?: Node
  update?: Node
  delete?: Node
  expressions?: Node[]
  group?: { lhs: [Node, Node][] }
  predicate?: { expr: Node }[]
  stages?: { expr: Node }[]
}

interface Environment {
  base: { depth: number; RegexEngine: unknown }
  lookup(name: string): unknown
}

/** What a value is going to be used for, as far as that costs something. */
type Use = 'compared' | 'written out' | 'gone through' | 'group key' | 'quoted'

const BEFORE = Symbol.for('jsonata.__evaluate_entry') as unknown as string
const AFTER = Symbol.for('jsonata.__evaluate_exit') as unknown as string

const uses = new WeakMap<Node, Use>()
const looked = new WeakSet<Node>()
const evaluations = new WeakMap<object, ExpressionBounds>()

/** JSONata's own clock and dice would give something else on every replay. */
export interface Chance {
  now: () => string
  millis: () => number
  random: () => number
}

export interface BoundedExpression {
  evaluate(scope: unknown, chance: Chance): Promise<unknown>
}

export function boundedJsonata(expression: string): BoundedExpression {
  const program = jsonata(expression, { sequence: MOST.items })
  for (const regex of regexesIn(program.ast())) new LinearRegex(regex)
  for (const [name, builtIn] of boundedBuiltIns()) program.assign(name, builtIn)
  program.assign(BEFORE, before)
  program.assign(AFTER, after)
  return {
    async evaluate(scope, chance) {
      try {
        const result: unknown = await program.evaluate(scope, { ...chance })
        // It is going to be written out. What is too large for that would have shown before, but for what a path has gathered.
        new ExpressionBounds(scope as object).whole(result)
        return result
      } catch (error) {
        if ((error as { code?: string }).code === 'D2015') throw new ExpressionBoundError(`it makes a list of more than ${MOST.items} items`)
        if (error instanceof RangeError) throw new ExpressionBoundError(`it asks for more than JavaScript can do (${error.message})`)
        throw error
      }
    },
  }
}

/** An evaluation is known by its outermost environment; a program may be at work for several runs at once. */
function boundsOf(base: object): ExpressionBounds {
  return evaluations.get(base)!
}

function begin({ base, lookup }: Environment): ExpressionBounds {
  const bounds = new ExpressionBounds(lookup('$') as object)
  evaluations.set(base, bounds)
  base.RegexEngine = class extends LinearRegex {
    constructor(regex: RegExp) {
      super(regex, (work) => bounds.work(2 * work))
    }
  }
  return bounds
}

function before(node: Node, input: unknown, environment: Environment): void {
  const bounds = evaluations.get(environment.base) ?? begin(environment)
  bounds.step(environment.base.depth)
  if (!looked.has(node)) {
    looked.add(node)
    lookAhead(node)
  }
  if (typeof input !== 'object' || input === null) return
  if (node.type === 'name' && Array.isArray(input)) bounds.work(bounds.measure(input).spread)
  if (node.type === 'descendant') bounds.work(bounds.measure(input).nodes)
  // The lists among the members are put together one by one, each time in a new list.
  if (node.type === 'wildcard') bounds.work((Object.keys(input).length * bounds.measure(input).nodes) / 4)
}

/** Says of the nodes below what becomes of their values. */
function lookAhead(node: Node): void {
  const use = (what: Use, ...nodes: (Node | undefined)[]): void => {
    for (const each of nodes) if (each) uses.set(each, what)
  }
  if (node.type === 'binary') {
    const what: Use = node.value === '&' ? 'written out' : node.value === '=' || node.value === '!=' ? 'compared' : 'gone through'
    use(what, node.lhs as Node, node.rhs)
  }
  use('gone through', node.condition, ...[...(node.predicate ?? []), ...(node.stages ?? [])].map(({ expr }) => expr))
  // Functions that take functions ask whether what they gave is true.
  if (node.type === 'lambda') use('gone through', node.body)
  // Where JSONata wants something else, its message has all of it.
  use('quoted', node.type === 'unary' ? node.expression : undefined, node.update, node.delete)
  const groups = [...(node.group?.lhs ?? []), ...(node.type === 'unary' && node.value === '{' ? (node.lhs as [Node, Node][]) : [])]
  use('group key', ...groups.map(([key]) => key))
}

/** Nodes that make values; the others find some that are there. */
const MAKERS: Record<string, true> = { unary: true, binary: true, function: true, apply: true, path: true }

function after(node: Node, _input: unknown, { base }: Environment, result: unknown): void {
  if (typeof result !== 'string' && (typeof result !== 'object' || result === null)) return
  const bounds = boundsOf(base)
  if (MAKERS[node.type] || node.group) weigh(bounds, node, result)
  switch (uses.get(node)) {
    case 'compared': {
      const { nodes, characters } = bounds.measure(result)
      return bounds.work(nodes + characters / 16)
    }
    case 'written out': {
      if (typeof result === 'string') return
      const { nodes, characters } = bounds.whole(result)
      bounds.text(nodes + characters)
      return bounds.work(nodes + characters)
    }
    case 'gone through':
      if (Array.isArray(result)) bounds.work(bounds.measure(result).spread)
      return
    case 'group key':
      // Anything else than a text is quoted.
      if (typeof result !== 'string') bounds.whole(result)
      return bounds.groupKey()
    case 'quoted':
      bounds.whole(result)
  }
}

function weigh(bounds: ExpressionBounds, node: Node, result: string | object): void {
  if (typeof result === 'string') {
    bounds.text(result.length)
    // Texts put together by `&` are not copied.
    return bounds.work(node.type === 'binary' ? result.length / 16 : result.length)
  }
  if (Array.isArray(result)) {
    bounds.list(result.length)
    // A list's members are put to it one by one, each time in a new list.
    bounds.work(result.length * (4 + (node.expressions?.length ?? 0) / 4))
  }
  // What a path has found was there, and may be large; what is made of it is measured then.
  if (node.type !== 'path') bounds.whole(result)
}

let wrapped: Map<string, BuiltIn> | undefined

/** JSONata gives its functions away only from within an evaluation; it calls the hook before it waits for anything. */
function boundedBuiltIns(): Map<string, BuiltIn> {
  if (wrapped) return wrapped
  const found = new Map<string, BuiltIn>()
  const program = jsonata('0')
  program.assign(BEFORE, (_node: Node, _input: unknown, { lookup }: Environment) => {
    for (const name of Object.keys(CHARGES)) found.set(name, withCharge(name, lookup(name) as BuiltIn, boundsOf))
  })
  void program.evaluate(undefined)
  wrapped = found
  return found
}

function regexesIn(tree: object): RegExp[] {
  const found: RegExp[] = []
  const seen = new Set<unknown>([tree])
  for (const part of seen) {
    if (part instanceof RegExp) found.push(part)
    else if (typeof part === 'object' && part !== null) for (const inner of Object.values(part)) seen.add(inner)
  }
  return found
}
