import type { LimitSpec } from './limit.ts'
import type { LimiterId } from './limiter.ts'
import { isPause } from './pause-scope.ts'

/** Where limits are on record. */
export const LIMITS = 'limits'
/** And pauses: apart, because every runner reads all of them again and again. */
export const PAUSES = 'pauses'
export const recordsOf = (limit: string): string => (isPause(limit) ? PAUSES : LIMITS)

/** A limit as every process sees it, whatever code it has. */
export interface LimitRecord {
  /** As the code has it. */
  code: LimitSpec
  /** What an operator has set in its place. */
  set?: LimitSpec
  paused?: true
  /** The cooldown of all keys: nothing is granted before. */
  restUntil?: number
  /** The most slots that it had, where it has fewer now: higher slots may still be held. */
  widest?: number
  /**
   * Of a pause: since when; that it is deleted once its queue is empty; and what tells it from an earlier one of its
   * name.
   */
  since?: number
  ends?: true
  serial?: string
  /** Of a pause that was paused again while it was resumed: runs that it released before stop again. */
  round?: number
}

/** The numbers that count. A limit that is not on record limits nothing. */
export const specInForce = (record: LimitRecord | undefined): LimitSpec => ({ ...record?.code, ...record?.set })

/** Which pause it is. Those of earlier versions are known by their time. */
export const serialOf = ({ serial, since }: LimitRecord): string => serial ?? String(since ?? 0)

/** The pause of this record is another one than the limiter's: that one is over. */
export const isOver = ({ limit, key }: LimiterId, record: LimitRecord | undefined): boolean =>
  isPause(limit) && (record === undefined || serialOf(record) !== key)

/** `after`, which remembers that `before` had more slots. */
export function rememberingSlots(before: LimitRecord, after: LimitRecord): LimitRecord {
  const most = Math.max(before.widest ?? 0, specInForce(before).concurrency ?? 0)
  const { widest: _, ...rest } = after
  return most > (specInForce(after).concurrency ?? 0) ? { ...rest, widest: most } : rest
}
