import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { invalid } from '../errors.ts'
import { typeOf } from '../values/attribute-value.ts'
import { type BoundCondition, type BoundOperand, bindCondition, holds } from './condition.ts'
import type { Scope } from './placeholders.ts'
import type { Comparator } from './syntax.ts'

/** The keys of a table or an index: name and type. */
export interface KeySchema {
  partition: string
  sort: string
  types: Record<string, string>
}

export interface KeyRange {
  partition: AttributeValue
  /** Whether a sort key is in the range. */
  includes(sort: AttributeValue): boolean
}

type OnKey = { key: string; values: AttributeValue[]; isEquality: boolean; condition: BoundCondition }

const KIND = 'KeyConditionExpression'
const MIRRORED: Record<Comparator, Comparator> = { '=': '=', '<>': '<>', '<': '>', '<=': '>=', '>': '<', '>=': '<=' }

export function bindKeyCondition(text: string, scope: Scope, schema: KeySchema): KeyRange {
  const found = new Map<string, OnKey>()
  for (const part of conjuncts(bindCondition(KIND, text, scope))) {
    const on = conditionOnKey(part)
    if (found.has(on.key)) throw invalid('KeyConditionExpressions must only contain one condition per key')
    found.set(on.key, on)
  }
  const partition = found.get(schema.partition)
  const sort = found.get(schema.sort)
  if (!partition || found.size > (sort ? 2 : 1)) throw invalid('Query condition missed key schema element')
  if (!partition.isEquality) throw invalid('Query key condition not supported')
  for (const on of found.values()) checkValues(on, schema)
  return {
    partition: partition.values[0]!,
    includes: (value) => !sort || holds(sort.condition, { [schema.sort]: value }),
  }
}

function conjuncts(condition: BoundCondition): BoundCondition[] {
  if (condition.kind === 'and') return [...conjuncts(condition.left), ...conjuncts(condition.right)]
  if (condition.kind === 'or' || condition.kind === 'not') throw notHere(condition.kind.toUpperCase())
  return [condition]
}

function conditionOnKey(condition: BoundCondition): OnKey {
  switch (condition.kind) {
    case 'compare': {
      if (condition.comparator === '<>') throw notHere('<>')
      const isMirrored = condition.left.kind === 'value'
      const [path, value] = isMirrored ? [condition.right, condition.left] : [condition.left, condition.right]
      const comparator = isMirrored ? MIRRORED[condition.comparator] : condition.comparator
      return {
        ...onKey(path, [value]),
        isEquality: comparator === '=',
        condition: { kind: 'compare', comparator, left: path, right: value },
      }
    }
    case 'between':
      return { ...onKey(condition.of, [condition.low, condition.high]), isEquality: false, condition }
    case 'call': {
      if (condition.name !== 'begins_with') throw notHere(condition.name)
      const [path, ...values] = condition.operands
      return { ...onKey(path!, values), isEquality: false, condition }
    }
    default:
      throw notHere(condition.kind.toUpperCase())
  }
}

function onKey(path: BoundOperand, operands: BoundOperand[]): Pick<OnKey, 'key' | 'values'> {
  if (path.kind === 'size' || operands.some(({ kind }) => kind === 'size'))
    throw invalid('KeyConditionExpressions cannot contain nested operations')
  const values = operands.map((operand) => (operand.kind === 'value' ? operand.value : undefined))
  if (path.kind !== 'path' || values.includes(undefined))
    throw invalid('Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition')
  const key = path.path[0] as string
  if (path.path.length > 1)
    throw invalid(
      `Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: ${key}`,
    )
  return { key, values: values as AttributeValue[] }
}

function checkValues({ key, values }: OnKey, { types }: KeySchema): void {
  for (const value of values) {
    if (typeOf(value) !== types[key])
      throw invalid('One or more parameter values were invalid: Condition parameter type does not match schema type')
    if (value.S === '' || value.B?.length === 0) throw emptyKey(key)
  }
}

export function emptyKey(key: string) {
  return invalid(
    `One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: ${key}`,
  )
}

function notHere(operator: string) {
  return invalid(`Invalid operator used in KeyConditionExpression: ${operator}`)
}
