import { fnv1a } from './random.ts'
import { encode } from './values.ts'

export { pathStep } from './path-step.ts'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Distinguishes lists of items; undefined for what cannot be written as JSON. Not a protection against attacks. */
export function digestOf(
  items: readonly unknown[],
  toJson: (item: unknown) => unknown = (item) => encode(item, 'an item'),
): string | undefined {
  try {
    const text = items.map((item) => canonicalJson(toJson(item))).join('\n')
    return `${fnv1a(text, 0x811c9dc5).toString(36)}${fnv1a(text, 0x9e3779b9).toString(36)}`
  } catch {
    return undefined
  }
}

/** The same text for the same data, whatever the order of its keys. */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'null'
  )
}
