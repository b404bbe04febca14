import type { DynamoDBServiceException } from '@aws-sdk/client-dynamodb'
import { invalid } from '../errors.ts'

/** Which member of a request an expression is; errors name it. */
export type ExpressionKind =
  | 'ConditionExpression'
  | 'FilterExpression'
  | 'KeyConditionExpression'
  | 'UpdateExpression'
  | 'ProjectionExpression'

export interface Token {
  kind: 'identifier' | 'keyword' | 'name' | 'value' | 'number' | 'symbol' | 'end'
  /** As it stands there; keywords in capitals. */
  text: string
  start: number
  end: number
}

const TOKEN = /\s*(?:([A-Za-z]\w*)|(#\w+)|(:\w+)|(\d+)|(<>|<=|>=|[^\s]))/gy
const KINDS = ['identifier', 'name', 'value', 'number', 'symbol'] as const
const KEYWORDS = new Set(['AND', 'OR', 'NOT', 'BETWEEN', 'IN', 'SET', 'REMOVE', 'ADD', 'DELETE'])

/** The tokens of an expression, read one after the other. */
export class Tokens {
  readonly expression: ExpressionKind
  private readonly text: string
  private readonly all: Token[]
  private position = 0

  constructor(expression: ExpressionKind, text: string) {
    this.expression = expression
    this.text = text
    if (text === '') throw this.error('The expression can not be empty;')
    this.all = [...text.matchAll(TOKEN)].map(toToken)
    this.all.push({ kind: 'end', text: '<EOF>', start: text.length, end: text.length })
  }

  get next(): Token {
    return this.all[this.position]!
  }

  get afterNext(): Token | undefined {
    return this.all[this.position + 1]
  }

  take(): Token {
    return this.all[this.position++]!
  }

  isAt(text: string): boolean {
    const { next } = this
    return next.text === text && (next.kind === 'symbol' || next.kind === 'keyword')
  }

  takeIf(text: string): boolean {
    const isThere = this.isAt(text)
    if (isThere) this.position++
    return isThere
  }

  expect(text: string): void {
    if (!this.takeIf(text)) throw this.unexpected()
  }

  expectEnd(): void {
    if (this.next.kind !== 'end') throw this.unexpected()
  }

  /** The next token should not be there. Quoted with its neighbours, as DynamoDB does. */
  unexpected(): DynamoDBServiceException {
    const { next, position, all, text } = this
    const before = all[position - 1]
    const behind = all[position + 1]
    const from = before?.start ?? (next.kind === 'end' ? 0 : next.start)
    const to =
      next.kind === 'end' ? (before?.end ?? text.length) : behind && behind.kind !== 'end' ? behind.end : next.end
    const token = next.kind === 'end' ? next.text : text.slice(next.start, next.end)
    return this.error(`Syntax error; token: "${token}", near: "${text.slice(from, to)}"`)
  }

  error(reason: string): DynamoDBServiceException {
    return invalid(`Invalid ${this.expression}: ${reason}`)
  }
}

function toToken(match: RegExpExecArray): Token {
  const group = match.slice(1).findIndex((part) => part !== undefined)
  const text = match[group + 1]!
  const end = match.index + match[0].length
  const capitals = text.toUpperCase()
  if (group === 0 && KEYWORDS.has(capitals)) return { kind: 'keyword', text: capitals, start: end - text.length, end }
  return { kind: KINDS[group]!, text, start: end - text.length, end }
}
