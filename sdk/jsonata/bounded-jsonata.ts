import jsonata from 'jsonata'
import { bounded, CHARGES, type Original, ofChance } from './bounded-functions.ts'
import { ExpressionBoundError, ExpressionBounds, MOST } from './expression-bounds.ts'
import { type BuiltIn, type Chance, type Evaluation, hideInside, isFunction } from './functions.ts'
import { ownCopy } from './own-copy.ts'
import { assertParsable } from './parse-cost.ts'
import { LinearRegex } from './regex/linear-regex.ts'
import { type Node, refusal, sealed } from './syntax-tree.ts'

/**
 * JSONata, bounded. It has hooks that are called before and after every node; what a node made is weighed there, and what operators are about to do with it
 * is charged. Functions charge for themselves, and regular expressions are matched by an engine that does.
 *
 * And JSONata, confined: an evaluation has a copy of its input and functions without an inside. All
 * else that it can reach it has made itself, so that nothing it does is there after its end.
 */

interface Environment {
  base: { depth: number; RegexEngine: unknown; createSequence: unknown }
  lookup(name: string): unknown
}

/** What a value is going to be used for, as far as that costs something. */
type Use = 'compared' | 'written out' | 'gone through' | 'group key' | 'quoted' | 'member'

const BEFORE = Symbol.for('jsonata.__evaluate_entry') as unknown as string
const AFTER = Symbol.for('jsonata.__evaluate_exit') as unknown as string

const COMPARES: Record<string, true> = { '=': true, '!=': true, '<': true, '<=': true, '>': true, '>=': true, in: true }
const MANY_ARGUMENTS = 8

const uses = new WeakMap<Node, Use>()
const looked = new WeakSet<Node>()
/** An evaluation is known by its outermost environment; a program may be at work for several runs at once. */
const evaluations = new WeakMap<object, Evaluation>()
/** The evaluation that JSONata is about to begin: it calls the hook before it waits for anything. */
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
        // It is going to be written out. What is too large for that would have shown before, but for what a path has gathered.
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

/** Takes what was left for it, so that no evaluation begins a second time with fresh bounds. */
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
  // JSONata has put a list that it was given into one of its own sequences already.
  if (Array.isArray(input) && Object.hasOwn(input, 'push')) Object.defineProperty(input, 'push', { enumerable: false })
  return evaluation
}

/** As JSONata makes them, but for `push`: an expression that got hold of it could change a list after it was measured. */
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
  // Arguments are matched against a signature, of which three parameters at most can be tried anew.
  if (node.type === 'function' && node.arguments!.length > MANY_ARGUMENTS) bounds.work(node.arguments!.length ** 3)
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
  // Functions that take functions ask whether what they gave is true.
  if (node.type === 'lambda') use('gone through', node.body)
  // Where JSONata wants something else, its message has all of it.
  use('quoted', node.type === 'unary' ? node.expression : undefined)
  const groups = [
    ...(node.group?.lhs ?? []),
    ...(node.type === 'unary' && node.value === '{' ? (node.lhs as [Node, Node][]) : []),
  ]
  use('group key', ...groups.map(([key]) => key))
  use('member', ...groups.map(([, value]) => value))
}

/** Nodes that make values; the others find some that are there. */
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
      // Anything else than a text is quoted.
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

/**
 * Functions of JavaScript's own are no members of objects. JavaScript would call one by its name:
 * it waits for an object that has a `then`, forever if that function does not answer.
 */
function refuseAsMember(result: unknown): void {
  const value = Array.isArray(result) && result.length === 1 ? (result[0] as unknown) : result
  if (typeof value === 'function')
    throw new Error(
      'it puts a regular expression, or a function that was passed to a function, into an object. Bind it to a variable instead',
    )
}

let known: ReadonlyMap<string, BuiltIn> | undefined

/** JSONata gives its functions away only from within an evaluation; it calls the hook before it waits for anything. */
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
