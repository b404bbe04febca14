import { parseList, parseOperand, parsePath } from './parse-operand.ts'
import type { Action, Operand, PathElement } from './syntax.ts'
import { Tokens } from './tokens.ts'

const SECTIONS = ['SET', 'REMOVE', 'ADD', 'DELETE'] as const

export function parseUpdate(text: string): Action[] {
  const tokens = new Tokens('UpdateExpression', text)
  const actions: Action[] = []
  const seen = new Set<string>()
  do {
    const section = SECTIONS.find((word) => tokens.isAt(word))
    if (!section) throw tokens.unexpected()
    if (seen.has(section)) throw tokens.error(`The "${section}" section can only be used once in an update expression;`)
    seen.add(section)
    tokens.take()
    actions.push(...parseList(tokens, () => parseAction(tokens, section)))
  } while (tokens.next.kind !== 'end')
  return actions
}

export function parseProjection(text: string): PathElement[][] {
  const tokens = new Tokens('ProjectionExpression', text)
  const paths = parseList(tokens, parsePath)
  tokens.expectEnd()
  return paths
}

function parseAction(tokens: Tokens, section: (typeof SECTIONS)[number]): Action {
  const path = parsePath(tokens)
  if (section === 'REMOVE') return { kind: 'REMOVE', path }
  if (section === 'SET') {
    tokens.expect('=')
    return { kind: 'SET', path, value: parseSum(tokens) }
  }
  if (tokens.next.kind !== 'value') throw tokens.unexpected()
  return { kind: section, path, value: parseOperand(tokens) }
}

function parseSum(tokens: Tokens): Operand {
  const left = parseTerm(tokens)
  for (const operator of ['+', '-'] as const)
    if (tokens.takeIf(operator)) return { kind: 'sum', operator, left, right: parseTerm(tokens) }
  return left
}

function parseTerm(tokens: Tokens): Operand {
  if (!tokens.takeIf('(')) return parseOperand(tokens)
  const inner = parseSum(tokens)
  tokens.expect(')')
  return inner
}
