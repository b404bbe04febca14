import { ExpressionBoundError, MOST } from './expression-bounds.ts'

/**
 * JSONata's parser copies the left operand of `??` and `?:`. In `((a ?? b) ?? c) ?? d` it copies the copies
 * too: thirty such levels, in 200 characters, make a tree of a billion nodes. The parser cannot be stopped,
 * so this reads the text first. The parser also searches the parent of every `%`, level by level.
 */

/** The cost of a `%` that stands for a parent, in characters. */
const PARENT = 50

/** The characters that the parser processes, copies included. Throws if they are too many. */
export function assertParsable(expression: string): number {
  if (expression.length > MOST.parsed) throw tooLong()
  const { copies, parents } = multipliers(expression)
  const cost = expression.length * 2 ** copies + PARENT * parents
  if (cost > MOST.parsed) throw tooLong()
  return cost
}

const tooLong = () =>
  new ExpressionBoundError(
    `it is too long: ${MOST.parsed} characters are allowed, and what is left of ?? or ?: counts twice`,
  )

/** JSONata's tokens, in the order in which its tokenizer tries them. */
const TOKENS: [kind: string, pattern: RegExp][] = [
  ['blank', /[ \t\n\r\v]+/y],
  ['operator', /\.\.|:=|!=|>=|<=|\*\*|~>|\?:|\?\?|[.[\]{}(),@#;:?+\-*/%|=<>^&!~]/y],
  ['operand', /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|`[^`]*`|(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][-+]?\d+)?/y],
  ['word', /[^ \t\n\r\v.[\]{}(),@#;:?+\-*/%|=<>^&!~]+/y],
]

/** A regular expression ends at the first `/` outside of brackets that is not escaped. */
function regexAt(expression: string, at: number): string {
  let depth = 0
  for (let end = at + 1; end < expression.length; end++) {
    const char = expression[end]!
    if (char === '/' && depth === 0 && !isEscaped(expression, end)) return expression.slice(at, end + 1)
    if (expression[end - 1] === '\\') continue
    if ('([{'.includes(char)) depth++
    if (')]}'.includes(char)) depth--
  }
  return ''
}

function isEscaped(expression: string, at: number): boolean {
  let backslashes = 0
  while (expression[at - backslashes - 1] === '\\') backslashes++
  return backslashes % 2 === 1
}

/** An empty text if it is never closed. */
function commentAt(expression: string, at: number): string {
  const end = expression.indexOf('*/', at + 2)
  return end === -1 ? '' : expression.slice(at, end + 2)
}

function tokenAt(expression: string, at: number, wantsOperand: boolean): { kind: string; text: string } {
  if (expression.startsWith('/*', at)) return { kind: 'blank', text: commentAt(expression, at) }
  for (const [kind, pattern] of TOKENS) {
    if (kind === 'operator' && wantsOperand && expression[at] === '/')
      return { kind: 'operand', text: regexAt(expression, at) }
    pattern.lastIndex = at
    const text = pattern.exec(expression)?.[0]
    if (text) return { kind, text }
  }
  return { kind: 'word', text: '' }
}

interface Level {
  /** The operand since the last separator: how many times parts of it are copied. */
  operand: number
  most: number
  /** The parameters of a function: a signature may follow. */
  isHead: boolean
}

const SIGNATURE = /<[a-z()<>?+: \t\n\r\v-]*(?=\{)/y

/**
 * How often a part of the expression is copied at most, with copies of copies; and how many `%` stand for a
 * parent.
 */
function multipliers(expression: string): { copies: number; parents: number } {
  if (!/\?[?:]|%/.test(expression)) return { copies: 0, parents: 0 }
  const levels: Level[] = [{ operand: 0, most: 0, isHead: false }]
  let most = 0
  let parents = 0
  /** Where an operand is expected, `/` begins a regular expression. */
  let wantsOperand = true
  let previous = ''
  for (let at = 0; at < expression.length; ) {
    const level = levels.at(-1)!
    const { kind, text } = tokenAt(expression, at, wantsOperand)
    // JSONata cannot read further either, and reports the error.
    if (text === '') break
    at += text.length
    if (kind === 'blank') continue
    if (previous === 'head' && text === '<') {
      SIGNATURE.lastIndex = at - 1
      const signature = SIGNATURE.exec(expression)?.[0]
      if (signature === undefined)
        throw new Error('it has a function signature that is none. Letters and ( ) < > ? + - : are allowed')
      at += signature.length - 1
    }
    const isName: boolean = wantsOperand || !/^(and|or|in)$/.test(text)
    const isWildcard: boolean = wantsOperand && (text === '*' || text === '**' || text === '%')
    if (isWildcard && text === '%') parents++
    const isOpening = kind === 'operator' && '([{'.includes(text)
    const isClosing = kind === 'operator' && ')]}'.includes(text)
    wantsOperand = kind === 'operator' ? !isClosing && !isWildcard : kind === 'word' && !isName
    if (text === '??' || text === '?:') {
      level.most = Math.max(level.most, level.operand + 1)
      level.operand = 0
    } else if (isOpening)
      levels.push({ operand: 0, most: 0, isHead: text === '(' && /^`?(function|\u03bb)`?$/.test(previous) })
    else if (isClosing && levels.length > 1) {
      levels.pop()
      const outer = levels.at(-1)!
      outer.operand = Math.max(outer.operand, level.operand, level.most)
    } else if (text === ',' || text === ';' || text === ':') {
      level.most = Math.max(level.most, level.operand)
      level.operand = 0
    }
    most = Math.max(most, level.operand, level.most)
    previous = isClosing && level.isHead ? 'head' : text
  }
  return { copies: most, parents }
}
