import type { Json } from '../../sdk/base/json.ts'

/** The types of `{ "~date": … }` and its like, by the marks of sdk/base/values.ts. */
const TYPES: Record<string, string> = {
  '~date': 'Date',
  '~map': 'Map',
  '~set': 'Set',
  '~url': 'URL',
  '~regexp': 'RegExp',
  '~bytes': 'bytes',
  '~buffer': 'bytes',
  '~error': 'Error',
  '~number': 'number',
  '~bigint': 'BigInt',
  '~undefined': 'undefined',
}

export interface Unmarked {
  type?: string
  json: Json
  /** Made by a codec, and unreadable here. */
  coded?: true
}

export function unmarked(value: Json): Unmarked {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { json: value }
  const [key, ...others] = Object.keys(value)
  if (key === undefined || others.length > 0 || !key.startsWith('~')) return { json: value }
  const inner = value[key]!
  if (key === '~coded') return { json: inner, coded: true }
  if (key === '~plain') return { json: inner }
  const type = TYPES[key]
  if (type === undefined) return { json: value }
  if (key === '~undefined') return { type, json: '' }
  return { type, json: key === '~map' && Array.isArray(inner) ? inner.map(pairOf) : inner }
}

const pairOf = (pair: Json): Json => (Array.isArray(pair) ? { key: pair[0] ?? null, value: pair[1] ?? null } : pair)
