/**
 * A limiter is a limit, or one key of it. It has slots (`concurrency`), a rate, or both, and a queue. What is stored of
 * it, all as documents:
 *
 *   `gates <limit>`     its state: the rate's window, a cooldown, and when it is next to be checked (I10)
 *   `slots <limit> …`   one document for each slot, in blocks: no two holders write the same one
 *   `line <limit> …`    its queue, sorted as it is served
 *
 * The names of the collections are older than the words used here.
 */
export interface LimiterId {
  limit: string
  /** Of a limit with keys: which. */
  key?: string
}

/** Builds a limiter id from anything that has `limit` and `key`. */
export const limiterOf = ({ limit, key }: { limit: string; key?: string | undefined }): LimiterId => ({
  limit,
  ...(key !== undefined && { key }),
})

export const isSameLimiter = (a: LimiterId | undefined, b: LimiterId): boolean =>
  a?.limit === b.limit && a.key === b.key

/**
 * A limiter's state. What it decides is worked out in `rate.ts`, of this and the time alone. Its fields are stored under
 * these names, some of which are older than the words used elsewhere: `promised`, `restUntil`, `lane`.
 */
export interface LimiterState {
  /** How much of the rate was taken, by pieces of time, in their order: when the piece ends, and how much. */
  used?: Used[]
  /** The last time for which a start was reserved. No later request begins before it. */
  lastAt?: number
  /** The reservation that is furthest ahead. Its owner dispatches the next ones when it begins. */
  promised?: Reservation
  /** Starts that did not begin in time and have given their part of the rate back: whose, and for when. */
  returned?: [holder: string, at: number][]
  /** The cooldown of this limiter: nothing is granted before. */
  restUntil?: number
  /** The fairness key that was served last, where there are no slots that would know. */
  lane?: string
  /** When it was last checked for holders that are gone, and that it was empty then. */
  checkedAt?: number
  wasEmpty?: true
  /** Slot holders and their average time, as earlier versions stored them. They are moved to slots when met. */
  holders?: Record<string, number>
  heldMs?: number
}

export type Used = [until: number, amount: number]

export interface Reservation {
  to: string
  at: number
  cost?: number
  order?: number
}

export const limitersOf = (limit: string): string => `gates ${limit}`
/** A document needs a key. No key of a user begins with a control character. */
export const NO_KEY = '\u0001'
export const limiterKey = ({ key }: LimiterId): string => (key === undefined ? NO_KEY : key)
const nameOf = ({ limit, key }: LimiterId): string => (key === undefined ? limit : `${limit}\u0001${key}`)
export const queueOf = (id: LimiterId): string => `line ${nameOf(id)}`
export const slotsOf = (id: LimiterId, block: number): string => `slots ${nameOf(id)}\u0002${block}`

/** Which limiter a state document is of. */
export function limiterAt({ collection, key }: { collection: string; key: string }): LimiterId {
  return limiterOf({ limit: collection.slice('gates '.length), key: key === NO_KEY ? undefined : key })
}

/** A run may have a slot before it is stored: its creator needs less than this from one to the other. */
export const BEING_MADE_MS = 60_000
/**
 * A permit that was granted this long ago, or less, is there without a look: a check takes none away that is
 * younger than `BEING_MADE_MS`.
 */
export const TRUSTED_MS = 30_000
/** A limiter that has a queue is checked this often (I10): by every sweep, which comes once a minute. */
export const CHECK_EVERY_MS = 50_000
/** A limiter that is in use and has no queue: only slots that no request waits for can be wrong. */
export const CHECK_IDLE_EVERY_MS = 3_600_000
