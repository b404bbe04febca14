import type { Json } from '../../base/json.ts'
import type { Document } from '../../ports/documents.ts'

/**
 * Starts that version 0.1 has stored (`logged-starts.ts`). It appended them to a log, one for each workflow and
 * key, whose places are written once: of two starts, or of a start and the runner that collects them, one is first
 * and the other sees it. The first start creates the run. The run reads the log when it is due, closes it behind
 * the last start, and takes all of them as its input.
 */
export interface Entry {
  /** The run that gets it. */
  run: string
  /** The place of the first one for that run, and when it came. */
  first: number
  /** The log is cleared before this place. */
  from: number
  since: number
  at: number
  /** Those of the run: what its payloads are encoded by. */
  tags?: string[]
  /** Nothing more for that run, of which there is no start in this place. `cleared`: nor in any place before it. */
  closed?: true
  cleared?: true
  /** Of the start, where its sender has one; and a digest of what was started under it. */
  key?: string
  digest?: string
  input?: Json
  parsed?: Json
  reparse?: true
}

/** What of an entry is a payload. */
export const ENTRY_PAYLOADS = ['input', 'parsed'] as const
const PREFIX = 'starts '
export const isStarts = (collection: string): boolean => collection.startsWith(PREFIX)
export const workflowOfStarts = (collection: string): string =>
  collection.slice(PREFIX.length, collection.indexOf('\u0001'))
export const startsOf = (workflow: string, key: string): string => `${PREFIX}${workflow}\u0001${key}`
export const place = (n: number): string => String(n).padStart(12, '0')
export const entryOf = ({ value }: Pick<Document, 'value'>): Entry => value as unknown as Entry

/**
 * A start that was on its way to a place must not find it free later, when its run has begun without it. No start
 * takes so long.
 */
export const PLACES_KEPT_MS = 3_600_000

/** The place without its start. */
export function emptied({ run, first, from, since, at }: Entry): Entry {
  return { run, first, from, since, at, closed: true }
}
