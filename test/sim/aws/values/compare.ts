import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { type Type, typeOf } from './attribute-value.ts'
import { compareNumbers } from './number.ts'

/** The types that have an order. */
export const hasOrder = (type: Type): boolean => type === 'S' || type === 'N' || type === 'B'

/** Of two values of the same ordered type. */
export function compareValues(a: AttributeValue, b: AttributeValue): number {
  if (a.S !== undefined) return compareTexts(a.S, b.S!)
  if (a.N !== undefined) return compareNumbers(a.N, b.N!)
  return Buffer.compare(a.B!, b.B!)
}

const FIRST_SURROGATE = 0xd800
const BEHIND_SURROGATES = 0xe000

/** By their UTF-8 bytes. JavaScript compares UTF-16, where U+E000 and up come behind what needs surrogates. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

function rank(unit: number): number {
  return unit >= FIRST_SURROGATE && unit < BEHIND_SURROGATES ? unit + 0x10000 : unit
}

export function isEqual(a: AttributeValue, b: AttributeValue): boolean {
  if (a === b) return true
  const type = typeOf(a)
  if (type !== typeOf(b)) return false
  switch (type) {
    case 'S':
      return a.S === b.S
    case 'N':
      return a.N === b.N || compareNumbers(a.N!, b.N!) === 0
    case 'B':
      return Buffer.compare(a.B!, b.B!) === 0
    case 'BOOL':
      return a.BOOL === b.BOOL
    case 'NULL':
      return true
    case 'L':
      return a.L!.length === b.L!.length && a.L!.every((member, i) => isEqual(member, b.L![i]!))
    case 'M':
      return areEqual(a.M!, b.M!)
    default: {
      const [left, right] = [membersOf(a), membersOf(b)]
      return left.length === right.length && left.every((member) => right.some((other) => isEqual(member, other)))
    }
  }
}

export function areEqual(a: Record<string, AttributeValue>, b: Record<string, AttributeValue>): boolean {
  if (a === b) return true
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length && names.every((name) => b[name] !== undefined && isEqual(a[name]!, b[name]))
  )
}

/** The members of a set, each as a value of its own. */
export function membersOf(set: AttributeValue): AttributeValue[] {
  if (set.SS) return set.SS.map((S) => ({ S }))
  if (set.NS) return set.NS.map((N) => ({ N }))
  return (set.BS ?? []).map((B) => ({ B }))
}

/** The set of these members; undefined where there are none, because there is no empty set. */
export function setOf(type: 'SS' | 'NS' | 'BS', members: AttributeValue[]): AttributeValue | undefined {
  if (members.length === 0) return undefined
  if (type === 'SS') return { SS: members.map(({ S }) => S!) }
  if (type === 'NS') return { NS: members.map(({ N }) => N!) }
  return { BS: members.map(({ B }) => B!) }
}
