import type { Json } from '../../base/json.ts'
import type { Document } from '../../ports/documents.ts'
import { MOST_CONCURRENCY } from './bounds.ts'
import { LIMITS, type LimitRecord, PAUSES } from './limit-record.ts'
import type { LimiterState } from './limiter.ts'
import { type Problem, problemOfEntry, problemOfRecord, problemOfSlot, problemOfState } from './stored-shapes.ts'

/**
 * Every document of a limiter is checked here when a store reads it. A person may have edited it, or a newer
 * version may have written it. A document that cannot be read is never overwritten and never causes an exception: a
 * value that grants nothing takes its place. So all rules go on, and only this limiter, slot or request stands
 * still. The check of the limiter reports it (`rules/limiters/repair.ts`).
 */

/** Of a document whose value cannot be read. */
export interface Unreadable {
  problem: string
  /** What is stored. A write that only moves the time of the next check puts it back. */
  stored: Json
}

/**
 * In place of a run or holder that is not known. No id contains it, so a document that has it cannot be read
 * either.
 */
export const UNKNOWN = '\u0000'

interface Kind {
  problemOf: Problem
  /** Grants nothing. */
  instead: object
}

const CLOSED: LimitRecord = { code: {}, paused: true, widest: MOST_CONCURRENCY }
const NEVER: LimiterState = {
  restUntil: Number.POSITIVE_INFINITY,
  promised: { to: UNKNOWN, at: Number.POSITIVE_INFINITY },
}
const RECORD: Kind = { problemOf: problemOfRecord, instead: CLOSED }
const STATE: Kind = { problemOf: problemOfState, instead: NEVER }
/** Held, by a holder that does not exist. */
const SLOT: Kind = { problemOf: problemOfSlot, instead: { holder: UNKNOWN, since: 0 } }
/** Requests that are withdrawn get no permit. */
const ENTRY: Kind = {
  problemOf: problemOfEntry,
  instead: { run: UNKNOWN, holder: UNKNOWN, lane: '', order: 0, grant: 'withdrawn' },
}

function kindOf(collection: string): Kind | undefined {
  if (collection === LIMITS || collection === PAUSES) return RECORD
  if (collection.startsWith('slots ')) return SLOT
  if (collection.startsWith('line ')) return ENTRY
  return collection.startsWith('gates ') ? STATE : undefined
}

/** A value that is no JSON fails where it is read, except that of a limiter, which is checked. */
export const isOfLimiters = (collection: string): boolean => kindOf(collection) !== undefined

export function readable(collection: string, document: Document): Document {
  const kind = kindOf(collection)
  const problem = kind?.problemOf(document.value, document.key)
  if (problem === undefined) return document
  const unreadable: Unreadable = { problem, stored: document.value }
  return { ...document, value: kind!.instead as Json, unreadable }
}

/** The value of a stored text. That of a limiter is the text itself where it is no JSON. */
export function parsed(collection: string, text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    if (!isOfLimiters(collection)) throw error
    return text
  }
}

/** Which document it is, and what is wrong with it. */
export const inWords = (collection: string, { key, unreadable }: Pick<Document, 'key' | 'unreadable'>): string =>
  `document '${shown(collection)}' / '${shown(key)}': ${unreadable!.problem}`

/** Names of collections and keys have control characters in them, which neither terminals nor people read. */
const shown = (name: string): string =>
  [...name].map((c) => (c < ' ' ? `\\u${c.codePointAt(0)!.toString(16).padStart(4, '0')}` : c)).join('')
