import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Attributes } from '../values/attribute-value.ts'
import { error } from './placeholders.ts'
import type { PathElement } from './syntax.ts'
import type { ExpressionKind } from './tokens.ts'

export function valueAt(item: Attributes | undefined, path: readonly PathElement[]): AttributeValue | undefined {
  let value = item?.[path[0] as string]
  for (let i = 1; value && i < path.length; i++) {
    const element = path[i]!
    value = typeof element === 'number' ? value.L?.[element] : value.M?.[element]
  }
  return value
}

/** As DynamoDB writes it in its errors. */
export function pathText(path: readonly PathElement[]): string {
  return `[${path.map((element) => (typeof element === 'number' ? `[${element}]` : element)).join(', ')}]`
}

export function isSamePath(a: readonly PathElement[], b: readonly PathElement[]): boolean {
  return a.length === b.length && a.every((element, i) => element === b[i])
}

/** No path may lead to another one or through it, and none may take for a list what another takes for a map. */
export function refuseOverlaps(kind: ExpressionKind, paths: readonly PathElement[][]): void {
  for (let i = 1; i < paths.length; i++) for (let j = 0; j < i; j++) refuseOverlap(kind, paths[j]!, paths[i]!)
}

function refuseOverlap(kind: ExpressionKind, one: PathElement[], two: PathElement[]): void {
  const shorter = Math.min(one.length, two.length)
  let same = 0
  while (same < shorter && one[same] === two[same]) same++
  const isConflict = same < shorter && typeof one[same] !== typeof two[same]
  if (same < shorter && !isConflict) return
  const verb = isConflict ? 'conflict' : 'overlap'
  throw error(
    kind,
    `Two document paths ${verb} with each other; must remove or rewrite one of these paths; path one: ${pathText(one)}, path two: ${pathText(two)}`,
  )
}
