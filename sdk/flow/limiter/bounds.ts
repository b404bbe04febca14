/** How far the numbers of flow control go. Nothing else is here, so that the page of limits can have them too. */

/** Each holder of a slot is on record in one small document, which is written when one comes or goes. */
export const MOST_CONCURRENCY = 1_000
export const MOST_RATE = 1_000_000_000
export const SHORTEST_PER_MS = 1_000
export const LONGEST_PER_MS = 31 * 86_400_000

/** The most inputs that one run takes. */
export const MOST_BATCH = 1_000
export const MOST_PRIORITY = 10_000

/** Runs that are paused one by one. */
export const MOST_PAUSES = 500
/** How fast a resume releases queued runs, and how fast it does by default. */
export const MOST_PER_SECOND = 1_000
export const USUAL_PER_SECOND = 100
