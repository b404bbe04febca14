import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { invalid } from '../errors.ts'
import { type Attributes, typeOf } from '../values/attribute-value.ts'
import { isEqual, membersOf, setOf } from '../values/compare.ts'
import { addNumbers, negateNumber } from '../values/number.ts'
import { checkAction, checkTerm, checkUpdateFunction } from './action-checks.ts'
import { Editor } from './editor.ts'
import { parseUpdate } from './parse-update.ts'
import { refuseOverlaps, valueAt } from './paths.ts'
import type { Scope } from './placeholders.ts'
import type { Action, Operand, PathElement } from './syntax.ts'

/** An update with its names in place. */
export interface BoundUpdate {
  actions: BoundAction[]
}

type BoundAction = { kind: Action['kind']; path: PathElement[]; value: BoundTerm | undefined }

export type BoundTerm =
  | { kind: 'path'; path: PathElement[] }
  | { kind: 'value'; value: AttributeValue }
  | { kind: 'if_not_exists' | 'list_append' | '+' | '-'; left: BoundTerm; right: BoundTerm }

const KIND = 'UpdateExpression'
const parsed = new Map<string, Action[]>()

export function bindUpdate(text: string, scope: Scope, keys: readonly string[]): BoundUpdate {
  let actions = parsed.get(text)
  if (!actions) {
    actions = parseUpdate(text)
    parsed.set(text, actions)
  }
  const bound = actions.map((action): BoundAction => {
    const path = scope.path(KIND, action.path)
    const value = action.kind === 'REMOVE' ? undefined : bindTerm(action.value, scope)
    checkAction(action.kind, value)
    return { kind: action.kind, path, value }
  })
  refuseOverlaps(
    KIND,
    bound.map(({ path }) => path),
  )
  const key = bound.map(({ path }) => path[0] as string).find((name) => keys.includes(name))
  if (key !== undefined)
    throw invalid(
      `One or more parameter values were invalid: Cannot update attribute ${key}. This attribute is part of the key`,
    )
  return { actions: bound }
}

/** The attributes at the top that the update touches. */
export function touched(update: BoundUpdate): Set<string> {
  return new Set(update.actions.map(({ path }) => path[0] as string))
}

/** What an item has under the paths of an update: the whole attribute where any of them leads to something. */
export function atPathsOf(update: BoundUpdate, item: Attributes): Attributes {
  const found = update.actions.filter(({ path }) => valueAt(item, path)).map(({ path }) => path[0] as string)
  return Object.fromEntries(found.map((name) => [name, item[name]!]))
}

/** The item as it is after the update. Everything that is read is read from the item as it was. */
export function applyUpdate(update: BoundUpdate, item: Attributes): Attributes {
  const editor = new Editor(item)
  for (const { path } of update.actions) editor.check(path)
  for (const { kind, path, value } of update.actions) {
    if (kind === 'REMOVE') editor.remove(path)
    else if (kind === 'SET') editor.set(path, evaluate(value!, item))
    else {
      const changed =
        kind === 'ADD'
          ? added(valueAt(item, path), evaluate(value!, item))
          : without(valueAt(item, path), evaluate(value!, item))
      if (changed) editor.set(path, changed)
      else editor.remove(path)
    }
  }
  return editor.result()
}

function bindTerm(operand: Operand, scope: Scope): BoundTerm {
  if (operand.kind === 'path') return { kind: 'path', path: scope.path(KIND, operand.elements) }
  if (operand.kind === 'value') return { kind: 'value', value: scope.value(KIND, operand.name) }
  if (operand.kind === 'sum')
    return checkTerm({
      kind: operand.operator,
      left: bindTerm(operand.left, scope),
      right: bindTerm(operand.right, scope),
    })
  checkUpdateFunction(operand.name, operand.operands)
  const [left, right] = operand.operands.map((one) => bindTerm(one, scope)) as [BoundTerm, BoundTerm]
  return checkTerm({ kind: operand.name as 'if_not_exists' | 'list_append', left, right })
}

function evaluate(term: BoundTerm, item: Attributes): AttributeValue {
  if (term.kind === 'value') return term.value
  if (term.kind === 'path') {
    const value = valueAt(item, term.path)
    if (!value) throw invalid('The provided expression refers to an attribute that does not exist in the item')
    return value
  }
  if (term.kind === 'if_not_exists') {
    // The other operand is evaluated in any case, and must be there.
    const otherwise = evaluate(term.right, item)
    return (term.left.kind === 'path' && valueAt(item, term.left.path)) || otherwise
  }
  const [left, right] = [evaluate(term.left, item), evaluate(term.right, item)]
  if (term.kind === 'list_append') {
    if (!left.L || !right.L) throw wrongData()
    return { L: [...left.L, ...right.L] }
  }
  if (left.N === undefined || right.N === undefined) throw wrongData()
  return { N: addNumbers(left.N, term.kind === '+' ? right.N : negateNumber(right.N)) }
}

function added(present: AttributeValue | undefined, value: AttributeValue): AttributeValue {
  if (!present) return value
  const type = typeOf(present)
  if (type !== typeOf(value)) throw wrongData()
  if (type === 'N') return { N: addNumbers(present.N!, value.N!) }
  const members = membersOf(present)
  return setOf(type as 'SS', [
    ...members,
    ...membersOf(value).filter((one) => !members.some((member) => isEqual(member, one))),
  ])!
}

function without(present: AttributeValue | undefined, value: AttributeValue): AttributeValue | undefined {
  if (!present) return undefined
  const type = typeOf(present)
  if (type !== typeOf(value)) throw wrongData()
  const gone = membersOf(value)
  return setOf(
    type as 'SS',
    membersOf(present).filter((member) => !gone.some((one) => isEqual(member, one))),
  )
}

function wrongData() {
  return invalid('An operand in the update expression has an incorrect data type')
}
