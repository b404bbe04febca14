/** The parts of JSONata's syntax tree that we read. */
export interface Node {
  type: string
  value?: unknown
  lhs?: Node | [Node, Node][]
  rhs?: Node
  condition?: Node
  body?: Node
  expression?: Node
  expressions?: Node[]
  arguments?: Node[]
  signature?: { definition: string }
  /** The variable of `@$v`. */
  focus?: string
  steps?: Node[]
  /** Of a sorting step. */
  terms?: { expression: Node }[]
  group?: { lhs: [Node, Node][] }
  predicate?: { expr: Node }[]
  stages?: { expr: Node }[]
}

/** The most parameters of a function's signature that may be optional or repeated. */
const MOST_SOFT = 3

/**
 * Why a node is refused, in words that continue "the expression … failed: ". Called when an expression is
 * checked, and again when a node is evaluated: `$eval` brings nodes of its own.
 */
export function refusal(node: Node): string | undefined {
  if (node.type === 'transform')
    return (
      'it uses the transform operator | … | … |, which changes objects in place and is not available ' +
      'here. Build a new object, for example with $merge([$, {…}])'
    )
  // Its members would be visible before they are hidden.
  if ((node.type === 'lambda' || node.type === 'partial') && (node.predicate || node.group))
    return 'it uses [ ] or { } right behind a function. Call the function, or bind it to a variable first'
  // JSONata awaits an object with a `then`, and it makes one with the name of the variable.
  if (node.focus === 'then') return 'it binds @$then. Take another name for the variable'
  if (node.signature) return signatureRefusal(node.signature.definition)
  return undefined
}

/** JSONata turns a signature into a JavaScript regular expression, which may backtrack without end. */
function signatureRefusal(definition: string): string | undefined {
  if (!/^<[a-z()<>?+:-]*>$/.test(definition))
    return (
      `it has the function signature ${definition.slice(0, 50)}, which is none. Letters and ( ) < > ? + - ` +
      ': are allowed'
    )
  if (definition.replace(/[^?+-]/g, '').length > MOST_SOFT)
    return (
      `it has the function signature ${definition.slice(0, 50)}, with more than ${MOST_SOFT} of ?, + and ` +
      '-. Let the function take a list or an object instead'
    )
  return undefined
}

/** Every node of a tree, and its regular expressions, frozen. */
export function sealed(tree: object): { nodes: Node[]; regexes: RegExp[] } {
  const nodes: Node[] = []
  const regexes: RegExp[] = []
  const seen = new Set<unknown>([tree])
  for (const part of seen) {
    if (typeof part !== 'object' || part === null) continue
    if (part instanceof RegExp) regexes.push(part)
    else if (typeof (part as Node).type === 'string') nodes.push(part as Node)
    for (const inner of Object.values(part)) seen.add(inner)
    Object.freeze(part)
  }
  return { nodes, regexes }
}
