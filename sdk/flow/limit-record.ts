import type { LimitSpec } from './limit.ts'
import { isPause } from './pause-scope.ts'

/** Where limits are on record. */
export const LIMITS = 'limits'
/** And pauses: apart, because every runner reads all of them again and again. */
export const PAUSES = 'pauses'
export const recordsOf = (limit: string): string => (isPause(limit) ? PAUSES : LIMITS)

/** A limit as everybody sees it, whatever code they have. */
export interface LimitRecord {
  /** As the code has it. */
  code: LimitSpec
  /** What people have set in its place. */
  set?: LimitSpec
  paused?: true
  /** Nobody is let in before, whatever the key: whoever is behind it asked for a rest. */
  restUntil?: number
  /** Of a pause: since when, and that it is gone once nobody is left in its line. */
  since?: number
  /** How often it was paused again while it was resumed: whoever was let through before is stopped again. */
  round?: number
  ends?: true
}

/** The numbers that count. A limit that is not on record limits nothing. */
export const specInForce = (record: LimitRecord | undefined): LimitSpec => ({ ...record?.code, ...record?.set })
