import jsonata from 'jsonata'
import { bounded, CHARGES, type Original, ofChance } from './bounded-functions.ts'
import { ExpressionBoundError, ExpressionBounds, MOST } from './expression-bounds.ts'
import { type BuiltIn, type Chance, type Evaluation, hideInside, isFunction } from './functions.ts'
import { ownCopy } from './own-copy.ts'
import { assertParsable } from './parse-cost.ts'
import { LinearRegex } from './regex/linear-regex.ts'
import { type Node, refusal, sealed } from './syntax-tree.ts'

/**
 * JSONata, bounded. It has hooks before and after every node: there the node's value is measured, and the
 * cost of what operators do with it is charged. Functions charge for themselves, and a linear regex engine
 * charges for matches.
 *
 * And JSONata, confined: an evaluation has a copy of its input and functions without inspectable members. It
 * has created everything else it can reach itself, so nothing it does outlives it.
 */

interface Environment {
  base: { depth: number; RegexEngine: unknown; createSequence: unknown }
  lookup(name: string): unknown
}

/** How a value will be used, as far as that has a cost. */
type Use = 'compared' | 'written out' | 'gone through' | 'group key' | 'quoted' | 'member'

const BEFORE = Symbol.for('jsonata.__evaluate_entry') as unknown as string
const AFTER = Symbol.for('jsonata.__evaluate_exit') as unknown as string

const COMPARES: Record<string, true> = { '=': true, '!=': true, '<': true, '<=': true, '>': true, '>=': true, in: true }
const MANY_ARGUMENTS = 8

const uses = new WeakMap<Node, Use>()
const looked = new WeakSet<Node>()
/** An evaluation is identified by its outermost environment; several runs may use one program at once. */
const evaluations = new WeakMap<object, Evaluation>()
/** The evaluation that JSONata is about to begin: it calls the hook before its first await. */
let beginning: Evaluation | undefined

export interface BoundedExpression {
  evaluate(scope: unknown, chance: Chance): Promise<unknown>
}

export function boundedJsonata(expression: string): BoundedExpression {
  assertParsable(expression)
  const program = jsonata(expression, { sequence: MOST.items })
  const { nodes, regexes } = sealed(program.ast())
  for (const node of nodes) refuse(node)
  for (const regex of regexes) new LinearRegex(regex)
  for (const [name, builtIn] of builtIns()) program.assign(name, builtIn)
  program.assign(BEFORE, before)
  program.assign(AFTER, after)
  return {
    async evaluate(scope, chance) {
      try {
        const own = ownCopy(scope)
        beginning = { bounds: new ExpressionBounds(own as object), chance }
        const result: unknown = await program.evaluate(own)
        if (isFunction(result)) throw new Error('it gives a function, and only data can go on. Call the function')
        // The value will be written out. Only a path's sequence can be too large here; other values have been
        // measured.
        new ExpressionBounds(own as object).whole(result)
        return result
      } catch (error) {
        if ((error as { code?: string }).code === 'D2015')
          throw new ExpressionBoundError(`it makes a list of more than ${MOST.items} items`)
        if (error instanceof RangeError)
          throw new ExpressionBoundError(`it asks for more than JavaScript can do (${error.message})`)
        throw error
      }
    },
  }
}

function evaluationOf(base: object): Evaluation {
  return evaluations.get(base)!
}

/** Takes the pending evaluation, so that none begins a second time with fresh bounds. */
function begin(base: Environment['base'], input: unknown): Evaluation {
  const evaluation = beginning!
  beginning = undefined
  const { bounds } = evaluation
  evaluations.set(base, evaluation)
  base.RegexEngine = class extends LinearRegex {
    constructor(regex: RegExp) {
      super(regex, (work) => bounds.work(2 * work))
    }
  }
  base.createSequence = sequence
  // JSONata has already wrapped an input list in a sequence of its own.
  if (Array.isArray(input) && Object.hasOwn(input, 'push')) Object.defineProperty(input, 'push', { enumerable: false })
  return evaluation
}

/** Like JSONata's own sequence, but for `push`: an expression that reached it could change a measured list. */
function sequence(...items: unknown[]): unknown[] {
  const list: unknown[] = []
  const push = (...more: unknown[]): number => {
    if (list.length + more.length > MOST.items) throw { code: 'D2015', value: MOST.items }
    return Array.prototype.push.apply(list, more)
  }
  Object.defineProperty(list, 'push', { value: push })
  Object.defineProperty(list, 'sequence', { value: true })
  if (items.length === 1) push(items[0])
  return list
}

function refuse(node: Node): void {
  const why = refusal(node)
  if (why !== undefined) throw new Error(why)
}

function before(node: Node, input: unknown, environment: Environment): void {
  const { bounds } = evaluations.get(environment.base) ?? begin(environment.base, input)
  bounds.step(environment.base.depth)
  if (!looked.has(node)) {
    refuse(node)
    looked.add(node)
    lookAhead(node)
  }
  // Arguments are matched against a signature, in which at most three parameters may backtrack.
  if (node.type === 'function' && node.arguments!.length > MANY_ARGUMENTS) bounds.work(node.arguments!.length ** 3)
  if (typeof input !== 'object' || input === null) return
  if (node.type === 'name' && Array.isArray(input)) bounds.work(bounds.measure(input).spread)
  if (node.type === 'descendant') bounds.work(bounds.measure(input).nodes)
  // Lists in the members are appended one by one, each time to a new list.
  if (node.type === 'wildcard') bounds.work((Object.keys(input).length * bounds.measure(input).nodes) / 4)
}

/** Notes how the nodes below will be used. */
function lookAhead(node: Node): void {
  const use = (what: Use, ...nodes: (Node | undefined)[]): void => {
    for (const each of nodes) if (each) uses.set(each, what)
  }
  if (node.type === 'binary') {
    use(
      node.value === '&' ? 'written out' : COMPARES[String(node.value)] ? 'compared' : 'gone through',
      node.lhs as Node,
      node.rhs,
    )
  }
  // Sorting is a step of a path, and JSONata calls no hook for it.
  for (const step of node.type === 'path' ? node.steps! : [])
    use('compared', ...(step.terms ?? []).map(({ expression }) => expression))
  use('gone through', node.condition, ...[...(node.predicate ?? []), ...(node.stages ?? [])].map(({ expr }) => expr))
  // Functions that take functions test their results for truth.
  if (node.type === 'lambda') use('gone through', node.body)
  // When JSONata expects another type, its error message contains the whole value.
  use('quoted', node.type === 'unary' ? node.expression : undefined)
  const groups = [
    ...(node.group?.lhs ?? []),
    ...(node.type === 'unary' && node.value === '{' ? (node.lhs as [Node, Node][]) : []),
  ]
  use('group key', ...groups.map(([key]) => key))
  use('member', ...groups.map(([, value]) => value))
}

/** Nodes that create values; other nodes return existing ones. */
const MAKERS: Record<string, true> = { unary: true, binary: true, function: true, apply: true, path: true }

function after(node: Node, _input: unknown, { base }: Environment, result: unknown): void {
  if (node.type === 'lambda' || node.type === 'partial') return hideInside(result as object)
  const use = uses.get(node)
  if (use === 'member') refuseAsMember(result)
  if (typeof result !== 'string' && (typeof result !== 'object' || result === null)) return
  const { bounds } = evaluationOf(base)
  if (MAKERS[node.type] || node.group) weigh(bounds, node, result)
  switch (use) {
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
      // Values other than strings are serialised.
      if (typeof result !== 'string') bounds.whole(result)
      // JavaScript keeps a copy of every key.
      else bounds.work(8 * result.length)
      return bounds.groupKey()
    case 'quoted':
      bounds.whole(result)
  }
}

function weigh(bounds: ExpressionBounds, node: Node, result: string | object): void {
  if (typeof result === 'string') {
    bounds.text(result.length)
    // Strings joined by `&` are not copied.
    return bounds.work(node.type === 'binary' ? result.length / 16 : result.length)
  }
  if (Array.isArray(result)) {
    bounds.list(result.length)
    // A list's members are appended one by one, each time to a new list.
    bounds.work(result.length * (4 + (node.expressions?.length ?? 0) / 4))
  }
  // A path returns existing values, which may be large; what is made of them is measured then.
  if (node.type !== 'path') bounds.whole(result)
}

/**
 * JavaScript's own functions may not be members of objects. JavaScript might call one by its name: it awaits
 * an object that has a `then`, forever if that function never answers.
 */
function refuseAsMember(result: unknown): void {
  const value = Array.isArray(result) && result.length === 1 ? (result[0] as unknown) : result
  if (typeof value === 'function')
    throw new Error(
      'it puts a regular expression, or a function that was passed to a function, into an object. Bind it to a ' +
        'variable instead',
    )
}

let known: ReadonlyMap<string, BuiltIn> | undefined

/** JSONata exposes its functions only inside an evaluation; it calls the hook before its first await. */
export function builtIns(): ReadonlyMap<string, BuiltIn> {
  if (known) return known
  const found = new Map<string, BuiltIn>()
  const program = jsonata('0')
  program.assign(BEFORE, (_node: Node, _input: unknown, { lookup }: Environment) => {
    for (const name of Object.keys(CHARGES))
      found.set(name, bounded(name, lookup(name) as unknown as Original, evaluationOf))
  })
  void program.evaluate(undefined)
  for (const name of ['now', 'millis', 'random'] as const) found.set(name, ofChance(name, evaluationOf))
  known = found
  return found
}
