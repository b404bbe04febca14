/** Bounds and spellings that handlers and clients need without loading the shapes. */

/** API Gateway gives a function this long: 29 seconds in a REST API, and 30 in an HTTP API. */
export const GATEWAY_TIMEOUT_MS = 29_000
/** What is left is for the rest of the request, and for a function that has to start first. */
export const LONGEST_WAIT_MS = GATEWAY_TIMEOUT_MS - 4_000

export const LONGEST_REASON = 1_000

/** The place of an event in a history. */
export const PLACE = /^\d{1,9}\.\d{1,9}$/

/** A time in a query: digits are epoch milliseconds. */
export const momentOf = (time: string): number | string => (/^\d+$/.test(time) ? Number(time) : time)

/** A problem document's `type` begins with it. */
export const PROBLEM_BASE = 'urn:overwinter:problem:'
