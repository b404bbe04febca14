import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Attributes } from '../values/attribute-value.ts'
import { typeOf } from '../values/attribute-value.ts'
import { compareValues, hasOrder, isEqual, membersOf } from '../values/compare.ts'
import { bindCall, bindOperand, checkBetween, checkDistinct, checkOrdered } from './operand-checks.ts'
import { parseCondition } from './parse-condition.ts'
import { valueAt } from './paths.ts'
import type { Scope } from './placeholders.ts'
import type { Comparator, Condition, PathElement } from './syntax.ts'
import type { ExpressionKind } from './tokens.ts'

/** A condition with its names and values in place, checked as far as that goes without an item. */
export type BoundCondition =
  | { kind: 'and' | 'or'; left: BoundCondition; right: BoundCondition }
  | { kind: 'not'; of: BoundCondition }
  | { kind: 'compare'; comparator: Comparator; left: BoundOperand; right: BoundOperand }
  | { kind: 'between'; of: BoundOperand; low: BoundOperand; high: BoundOperand }
  | { kind: 'in'; of: BoundOperand; list: BoundOperand[] }
  | { kind: 'call'; name: string; operands: BoundOperand[] }

export type BoundOperand =
  | { kind: 'path'; path: PathElement[] }
  | { kind: 'value'; value: AttributeValue }
  | { kind: 'size'; of: BoundOperand }

const parsed = new Map<string, Condition>()

export function bindCondition(kind: ExpressionKind, text: string, scope: Scope): BoundCondition {
  const key = `${kind} ${text}`
  let condition = parsed.get(key)
  if (!condition) {
    condition = parseCondition(kind, text)
    parsed.set(key, condition)
  }
  return bind(kind, condition, scope)
}

function bind(kind: ExpressionKind, condition: Condition, scope: Scope): BoundCondition {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return {
        kind: condition.kind,
        left: bind(kind, condition.left, scope),
        right: bind(kind, condition.right, scope),
      }
    case 'not':
      return { kind: 'not', of: bind(kind, condition.of, scope) }
    case 'compare': {
      const { comparator } = condition
      const [left, right] = [bindOperand(kind, condition.left, scope), bindOperand(kind, condition.right, scope)]
      checkDistinct(kind, comparator, left, [right])
      if (comparator !== '=' && comparator !== '<>') checkOrdered(kind, comparator, left, right)
      return { kind: 'compare', comparator, left, right }
    }
    case 'between': {
      const [of, low, high] = [condition.of, condition.low, condition.high].map((operand) =>
        bindOperand(kind, operand, scope),
      ) as [BoundOperand, BoundOperand, BoundOperand]
      checkDistinct(kind, 'BETWEEN', of, [low, high])
      checkOrdered(kind, 'BETWEEN', of, low, high)
      checkBetween(kind, low, high)
      return { kind: 'between', of, low, high }
    }
    case 'in': {
      const of = bindOperand(kind, condition.of, scope)
      const list = condition.list.map((operand) => bindOperand(kind, operand, scope))
      checkDistinct(kind, 'IN', of, list)
      return { kind: 'in', of, list }
    }
    case 'call':
      return bindCall(kind, condition.name, condition.operands, scope)
  }
}

/** Whether the item, or its absence, meets the condition. What is missing equals nothing, and is neither less nor more. */
export function holds(condition: BoundCondition, item: Attributes | undefined): boolean {
  switch (condition.kind) {
    case 'and':
      return holds(condition.left, item) && holds(condition.right, item)
    case 'or':
      return holds(condition.left, item) || holds(condition.right, item)
    case 'not':
      return !holds(condition.of, item)
    case 'compare':
      return compares(condition.comparator, operandIn(condition.left, item), operandIn(condition.right, item))
    case 'between': {
      const value = operandIn(condition.of, item)
      return (
        compares('>=', value, operandIn(condition.low, item)) && compares('<=', value, operandIn(condition.high, item))
      )
    }
    case 'in': {
      const value = operandIn(condition.of, item)
      return condition.list.some((operand) => compares('=', value, operandIn(operand, item)))
    }
    case 'call':
      return answers(condition.name, condition.operands, item)
  }
}

function compares(
  comparator: Comparator,
  left: AttributeValue | undefined,
  right: AttributeValue | undefined,
): boolean {
  if (comparator === '<>') return !compares('=', left, right)
  if (!left || !right) return false
  if (comparator === '=') return isEqual(left, right)
  const type = typeOf(left)
  if (type !== typeOf(right) || !hasOrder(type)) return false
  const order = compareValues(left, right)
  if (comparator === '<') return order < 0
  if (comparator === '<=') return order <= 0
  return comparator === '>' ? order > 0 : order >= 0
}

function answers(name: string, [first, second]: BoundOperand[], item: Attributes | undefined): boolean {
  const value = operandIn(first!, item)
  if (name === 'attribute_exists') return value !== undefined
  if (name === 'attribute_not_exists') return value === undefined
  const other = operandIn(second!, item)
  if (!value || !other) return false
  if (name === 'attribute_type') return typeOf(value) === other.S
  return name === 'begins_with' ? beginsWith(value, other) : contains(value, other)
}

function beginsWith(value: AttributeValue, prefix: AttributeValue): boolean {
  if (value.S !== undefined && prefix.S !== undefined) return value.S.startsWith(prefix.S)
  return (
    value.B !== undefined &&
    prefix.B !== undefined &&
    Buffer.compare(value.B.subarray(0, prefix.B.length), prefix.B) === 0
  )
}

function contains(value: AttributeValue, part: AttributeValue): boolean {
  if (value.S !== undefined) return part.S !== undefined && value.S.includes(part.S)
  if (value.B !== undefined) return part.B !== undefined && Buffer.from(value.B).includes(Buffer.from(part.B))
  return (value.L ?? membersOf(value)).some((member) => isEqual(member, part))
}

function operandIn(operand: BoundOperand, item: Attributes | undefined): AttributeValue | undefined {
  if (operand.kind === 'value') return operand.value
  if (operand.kind === 'path') return valueAt(item, operand.path)
  const value = operandIn(operand.of, item)
  const size = value && sizeOf(value)
  return size === undefined ? undefined : { N: String(size) }
}

/** Texts count in UTF-16 units, as Java and JavaScript do. */
function sizeOf(value: AttributeValue): number | undefined {
  if (value.S !== undefined) return value.S.length
  if (value.B !== undefined) return value.B.length
  if (value.M) return Object.keys(value.M).length
  return (value.L ?? value.SS ?? value.NS ?? value.BS)?.length
}
