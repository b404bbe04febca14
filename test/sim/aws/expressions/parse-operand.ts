import type { Operand, PathElement } from './syntax.ts'
import type { Tokens } from './tokens.ts'

export function parseOperand(tokens: Tokens): Operand {
  const { next } = tokens
  if (next.kind === 'value') return { kind: 'value', name: tokens.take().text }
  if (next.kind === 'identifier' && tokens.afterNext?.text === '(') return parseFunction(tokens)
  return { kind: 'path', elements: parsePath(tokens) }
}

export function parsePath(tokens: Tokens): PathElement[] {
  const path: PathElement[] = [parseName(tokens)]
  for (;;) {
    if (tokens.takeIf('.')) path.push(parseName(tokens))
    else if (tokens.takeIf('[')) {
      if (tokens.next.kind !== 'number') throw tokens.unexpected()
      path.push(Number(tokens.take().text))
      tokens.expect(']')
    } else return path
  }
}

/** One or more of something, with commas in between. */
export function parseList<T>(tokens: Tokens, parseOne: (tokens: Tokens) => T): T[] {
  const list = [parseOne(tokens)]
  while (tokens.takeIf(',')) list.push(parseOne(tokens))
  return list
}

function parseFunction(tokens: Tokens): Operand {
  const name = tokens.take().text
  tokens.expect('(')
  const operands = parseList(tokens, parseOperand)
  tokens.expect(')')
  return { kind: 'function', name, operands }
}

function parseName(tokens: Tokens): string {
  const { kind } = tokens.next
  if (kind !== 'identifier' && kind !== 'name') throw tokens.unexpected()
  return tokens.take().text
}
