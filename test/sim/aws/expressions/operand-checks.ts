import { TYPES, type Type, typeOf } from '../values/attribute-value.ts'
import { compareValues, hasOrder } from '../values/compare.ts'
import type { BoundCondition, BoundOperand } from './condition.ts'
import { isSamePath, pathText } from './paths.ts'
import { error, type Scope } from './placeholders.ts'
import type { Operand } from './syntax.ts'
import type { ExpressionKind } from './tokens.ts'

/** What DynamoDB refuses before it looks at any item: wrong functions, wrong operands, values of the wrong type. */

const OPERANDS: Record<string, number> = {
  attribute_exists: 1,
  attribute_not_exists: 1,
  attribute_type: 2,
  begins_with: 2,
  contains: 2,
  size: 1,
}
const OF_UPDATES: readonly string[] = ['if_not_exists', 'list_append']
const HAVE_NO_SIZE: readonly Type[] = ['N', 'BOOL', 'NULL']

export function bindOperand(kind: ExpressionKind, operand: Operand, scope: Scope): BoundOperand {
  if (operand.kind === 'path') return { kind: 'path', path: scope.path(kind, operand.elements) }
  if (operand.kind === 'value') return { kind: 'value', value: scope.value(kind, operand.name) }
  if (operand.kind === 'sum') throw new Error('only updates have sums')
  checkFunction(kind, operand.name, operand.operands)
  if (operand.name !== 'size') throw notThisWay(kind, operand.name)
  const of = bindOperand(kind, operand.operands[0]!, scope)
  if (of.kind === 'size') throw wrongType(kind, 'size', 'N')
  refuseTypes(kind, 'size', of, HAVE_NO_SIZE)
  return { kind: 'size', of }
}

export function bindCall(kind: ExpressionKind, name: string, given: Operand[], scope: Scope): BoundCondition {
  checkFunction(kind, name, given)
  if (name === 'size') throw notThisWay(kind, name)
  const operands = given.map((operand) => bindOperand(kind, operand, scope))
  const [first, second] = operands as [BoundOperand, BoundOperand]
  if (name === 'attribute_exists' || name === 'attribute_not_exists') {
    if (first.kind !== 'path')
      throw error(kind, `Operator or function requires a document path; operator or function: ${name}`)
    return { kind: 'call', name, operands }
  }
  checkDistinct(kind, name, first, [second])
  if (name === 'attribute_type') checkTypeName(kind, second)
  if (name === 'begins_with')
    for (const operand of operands)
      refuseTypes(
        kind,
        name,
        operand,
        TYPES.filter((type) => type !== 'S' && type !== 'B'),
      )
  return { kind: 'call', name, operands }
}

export function checkDistinct(kind: ExpressionKind, operator: string, first: BoundOperand, rest: BoundOperand[]): void {
  if (first.kind !== 'path' || !rest.some((operand) => operand.kind === 'path' && isSamePath(operand.path, first.path)))
    return
  throw error(
    kind,
    `The first operand must be distinct from the remaining operands for this operator or function; operator: ${operator}, first operand: ${pathText(first.path)}`,
  )
}

export function checkOrdered(kind: ExpressionKind, operator: string, ...operands: BoundOperand[]): void {
  for (const operand of operands)
    refuseTypes(
      kind,
      operator,
      operand,
      TYPES.filter((type) => !hasOrder(type)),
    )
}

export function checkBetween(kind: ExpressionKind, low: BoundOperand, high: BoundOperand): void {
  if (low.kind !== 'value' || high.kind !== 'value') return
  const bounds = () => `lower bound operand: ${valueText(low)}, upper bound operand: ${valueText(high)}`
  if (typeOf(low.value) !== typeOf(high.value))
    throw error(kind, `The BETWEEN operator requires same data type for lower and upper bounds; ${bounds()}`)
  if (compareValues(low.value, high.value) <= 0) return
  throw error(kind, `The BETWEEN operator requires upper bound to be greater than or equal to lower bound; ${bounds()}`)
}

function checkFunction(kind: ExpressionKind, name: string, operands: Operand[]): void {
  if (OF_UPDATES.includes(name))
    throw error(kind, `The function is not allowed in a condition expression; function: ${name}`)
  if (OPERANDS[name] === undefined) throw error(kind, `Invalid function name; function: ${name}`)
  if (operands.length !== OPERANDS[name]) {
    throw error(
      kind,
      `Incorrect number of operands for operator or function; operator or function: ${name}, number of operands: ${operands.length}`,
    )
  }
}

function checkTypeName(kind: ExpressionKind, operand: BoundOperand): void {
  if (operand.kind !== 'value') throw wrongType(kind, 'attribute_type', `{${TYPES.join(',')}}`)
  const { S } = operand.value
  if (S === undefined) throw wrongType(kind, 'attribute_type', typeOf(operand.value))
  if (!TYPES.includes(S as Type))
    throw error(kind, `Invalid attribute type name found; type: ${S}, valid types: {${TYPES.join(',')}}`)
}

function refuseTypes(kind: ExpressionKind, operator: string, operand: BoundOperand, refused: readonly Type[]): void {
  if (operand.kind === 'value' && refused.includes(typeOf(operand.value)))
    throw wrongType(kind, operator, typeOf(operand.value))
}

function wrongType(kind: ExpressionKind, operator: string, type: string) {
  return error(
    kind,
    `Incorrect operand type for operator or function; operator or function: ${operator}, operand type: ${type}`,
  )
}

function notThisWay(kind: ExpressionKind, name: string) {
  return error(kind, `The function is not allowed to be used this way in an expression; function: ${name}`)
}

function valueText({ value }: Extract<BoundOperand, { kind: 'value' }>): string {
  return `AttributeValue: {${typeOf(value)}:${value.S ?? value.N ?? Buffer.from(value.B!).toString('base64')}}`
}
