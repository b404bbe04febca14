import { parseList, parseOperand } from './parse-operand.ts'
import type { Comparator, Condition, Operand } from './syntax.ts'
import { type ExpressionKind, Tokens } from './tokens.ts'

const COMPARATORS = new Set(['=', '<>', '<', '<=', '>', '>='])

export function parseCondition(kind: ExpressionKind, text: string): Condition {
  const tokens = new Tokens(kind, text)
  const parser = new ConditionParser(tokens)
  const condition = parser.condition()
  tokens.expectEnd()
  return condition
}

class ConditionParser {
  private readonly tokens: Tokens
  private depth = 0
  /** Conditions that stood in brackets of their own: another pair around them is refused. */
  private readonly bracketed = new Set<Condition>()

  constructor(tokens: Tokens) {
    this.tokens = tokens
  }

  condition(): Condition {
    return this.mustHold(this.or())
  }

  private or(): Condition | Operand {
    let left = this.and()
    while (this.tokens.isAt('OR')) {
      const first = this.mustHold(left)
      this.tokens.take()
      left = { kind: 'or', left: first, right: this.mustHold(this.and()) }
    }
    return left
  }

  private and(): Condition | Operand {
    let left = this.not()
    while (this.tokens.isAt('AND')) {
      const first = this.mustHold(left)
      this.tokens.take()
      left = { kind: 'and', left: first, right: this.mustHold(this.not()) }
    }
    return left
  }

  private not(): Condition | Operand {
    return this.tokens.takeIf('NOT') ? { kind: 'not', of: this.mustHold(this.not()) } : this.primary()
  }

  /** A condition, or an operand in brackets: which of them a bracket holds is known only behind it. */
  private primary(): Condition | Operand {
    const operand = this.tokens.isAt('(') ? this.brackets() : parseOperand(this.tokens)
    if (isCondition(operand)) return operand
    const { tokens } = this
    if (COMPARATORS.has(tokens.next.text)) {
      const comparator = tokens.take().text as Comparator
      return { kind: 'compare', comparator, left: operand, right: this.operand() }
    }
    if (tokens.takeIf('BETWEEN')) {
      const low = this.operand()
      tokens.expect('AND')
      return { kind: 'between', of: operand, low, high: this.operand() }
    }
    if (tokens.takeIf('IN')) {
      tokens.expect('(')
      const list = parseList(tokens, () => this.operand())
      tokens.expect(')')
      return { kind: 'in', of: operand, list }
    }
    if (operand.kind === 'function') return { kind: 'call', name: operand.name, operands: operand.operands }
    if (this.depth > 0 && tokens.isAt(')')) return operand
    throw tokens.unexpected()
  }

  private brackets(): Condition | Operand {
    const { tokens } = this
    tokens.expect('(')
    this.depth++
    const inner = this.or()
    this.depth--
    tokens.expect(')')
    if (!isCondition(inner)) return inner
    if (this.bracketed.has(inner)) throw tokens.error('The expression has redundant parentheses;')
    this.bracketed.add(inner)
    return inner
  }

  private operand(): Operand {
    if (!this.tokens.takeIf('(')) return parseOperand(this.tokens)
    const operand = this.operand()
    this.tokens.expect(')')
    return operand
  }

  private mustHold(parsed: Condition | Operand): Condition {
    if (isCondition(parsed)) return parsed
    throw this.tokens.unexpected()
  }
}

function isCondition(parsed: Condition | Operand): parsed is Condition {
  return parsed.kind !== 'path' && parsed.kind !== 'value' && parsed.kind !== 'function' && parsed.kind !== 'sum'
}
