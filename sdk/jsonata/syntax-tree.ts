/** As much of JSONata's syntax tree as is looked at. */
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

/** Of a function's signature: parameters that may be left out or repeated. */
const MOST_SOFT = 3

/**
 * Why a node is refused, in words that go on from "the expression … failed: ". Asked when an
 * expression is checked, and again when a node is evaluated: `$eval` brings nodes of its own.
 */
export function refusal(node: Node): string | undefined {
  if (node.type === 'transform')
    return 'it uses the transform operator | … | … |, which changes objects in place and is not available here. Build a new object, for example with $merge([$, {…}])'
  // Its members would be seen before they are hidden.
  if ((node.type === 'lambda' || node.type === 'partial') && (node.predicate || node.group))
    return 'it uses [ ] or { } right behind a function. Call the function, or bind it to a variable first'
  // JSONata waits for an object with a `then`, and it makes one with the name of the variable.
  if (node.focus === 'then') return 'it binds @$then. Take another name for the variable'
  if (node.signature) return signatureRefusal(node.signature.definition)
  return undefined
}

/** JSONata makes a JavaScript regular expression of a signature, which may try without end. */
function signatureRefusal(definition: string): string | undefined {
  if (!/^<[a-z()<>?+:-]*>$/.test(definition))
    return `it has the function signature ${definition.slice(0, 50)}, which is none. Letters and ( ) < > ? + - : are allowed`
  if (definition.replace(/[^?+-]/g, '').length > MOST_SOFT)
    return `it has the function signature ${definition.slice(0, 50)}, with more than ${MOST_SOFT} of ?, + and -. Let the function take a list or an object instead`
  return undefined
}

/** Every node of a tree, and the regular expressions in it; none can be changed from then on. */
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
