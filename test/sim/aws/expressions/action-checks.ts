import { type Type, typeOf } from '../values/attribute-value.ts'
import { isSamePath, pathText } from './paths.ts'
import { error } from './placeholders.ts'
import type { Action, Operand } from './syntax.ts'
import type { BoundTerm } from './update.ts'

/** What DynamoDB refuses of an update before it looks at the item. */

const KIND = 'UpdateExpression'
const OPERANDS: Record<string, number> = { if_not_exists: 2, list_append: 2 }
const OF_CONDITIONS: readonly string[] = [
  'attribute_exists',
  'attribute_not_exists',
  'attribute_type',
  'begins_with',
  'contains',
  'size',
]
const SETS: readonly Type[] = ['SS', 'NS', 'BS']

/** In these two errors DynamoDB calls its types by other names. */
const LONG_NAMES: Record<Type, string> = {
  S: 'STRING',
  N: 'NUMBER',
  B: 'BINARY',
  BOOL: 'BOOLEAN',
  NULL: 'NULL',
  L: 'LIST',
  M: 'MAP',
  SS: 'STRING_SET',
  NS: 'NUMBER_SET',
  BS: 'BINARY_SET',
}

export function checkUpdateFunction(name: string, operands: Operand[]): void {
  if (OF_CONDITIONS.includes(name))
    throw error(KIND, `The function is not allowed in an update expression; function: ${name}`)
  if (OPERANDS[name] === undefined) throw error(KIND, `Invalid function name; function: ${name}`)
  if (operands.length !== OPERANDS[name]) {
    throw error(
      KIND,
      `Incorrect number of operands for operator or function; operator or function: ${name}, number of operands: ${operands.length}`,
    )
  }
}

export function checkTerm(term: BoundTerm): BoundTerm {
  if (term.kind === 'path' || term.kind === 'value') return term
  if (term.kind === 'if_not_exists') {
    const { left, right } = term
    if (left.kind !== 'path')
      throw error(KIND, `Operator or function requires a document path; operator or function: ${term.kind}`)
    if (right.kind === 'path' && isSamePath(left.path, right.path)) {
      throw error(
        KIND,
        `The first operand must be distinct from the remaining operands for this operator or function; operator: ${term.kind}, first operand: ${pathText(left.path)}`,
      )
    }
    return term
  }
  const wanted: Type = term.kind === 'list_append' ? 'L' : 'N'
  for (const operand of [term.left, term.right]) {
    if (operand.kind !== 'value' || typeOf(operand.value) === wanted) continue
    throw error(
      KIND,
      `Incorrect operand type for operator or function; operator or function: ${term.kind}, operand type: ${typeOf(operand.value)}`,
    )
  }
  return term
}

export function checkAction(kind: Action['kind'], value: BoundTerm | undefined): void {
  if ((kind !== 'ADD' && kind !== 'DELETE') || value?.kind !== 'value') return
  const type = typeOf(value.value)
  if (SETS.includes(type) || (kind === 'ADD' && type === 'N')) return
  throw error(
    KIND,
    `Incorrect operand type for operator or function; operator: ${kind}, operand type: ${LONG_NAMES[type]}, typeSet: ALLOWED_FOR_${kind}_OPERAND`,
  )
}
