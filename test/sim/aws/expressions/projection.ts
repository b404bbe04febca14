import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Attributes } from '../values/attribute-value.ts'
import { parseProjection } from './parse-update.ts'
import { refuseOverlaps } from './paths.ts'
import type { Scope } from './placeholders.ts'
import type { PathElement } from './syntax.ts'

const KIND = 'ProjectionExpression'
const parsed = new Map<string, PathElement[][]>()

export function bindProjection(text: string, scope: Scope): PathElement[][] {
  let paths = parsed.get(text)
  if (!paths) {
    paths = parseProjection(text)
    parsed.set(text, paths)
  }
  const bound = paths.map((path) => scope.path(KIND, path))
  refuseOverlaps(KIND, bound)
  return bound
}

/** What of the item lies on the paths; the elements of a list close up. */
export function project(item: Attributes, paths: readonly PathElement[][]): Attributes {
  return project1({ M: item }, paths)?.M ?? {}
}

function project1(value: AttributeValue, paths: readonly (readonly PathElement[])[]): AttributeValue | undefined {
  if (paths.some((path) => path.length === 0)) return value
  const elements = [...new Set(paths.map((path) => path[0]!))]
  const inside = (element: PathElement, member: AttributeValue | undefined) =>
    member &&
    project1(
      member,
      paths.filter((path) => path[0] === element).map((path) => path.slice(1)),
    )
  if (value.M) {
    const found = elements
      .map((element) => [element, inside(element, value.M![element])] as const)
      .filter(([, member]) => member)
    return found.length === 0 ? undefined : { M: Object.fromEntries(found) as Attributes }
  }
  if (!value.L) return undefined
  const indexes = elements.filter((element) => typeof element === 'number').sort((a, b) => a - b)
  const found = indexes.map((index) => inside(index, value.L![index])).filter((member) => member !== undefined)
  return found.length === 0 ? undefined : { L: found }
}
