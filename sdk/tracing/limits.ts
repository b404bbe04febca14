import type { Span } from '../views/spans.ts'

/**
 * The limits of CloudWatch: spans of the last 14 days, and in one request at most 10,000 spans, 5 MB and a
 * range of 24 hours. Other backends accept more, and lose nothing.
 */
export const MOST_SPANS = 10_000
export const MOST_BYTES = 5_000_000
export const LONGEST_MS = 86_400_000
export const OLDEST_MS = 14 * 86_400_000
/** Sending takes a moment, and clocks differ. */
const MARGIN_MS = 3_600_000

/**
 * A crashed process may be found weeks later, with spans that it had not sent. Such an old span is sent with
 * the current time and an attribute with the real one: a root that never arrived would leave all other spans
 * without a parent.
 */
export function takeable(span: Span, now: number): Span {
  const isOld = span.startMs < now - OLDEST_MS + MARGIN_MS
  const lengthMs = Math.min(span.endMs - span.startMs, LONGEST_MS - MARGIN_MS)
  if (!isOld && lengthMs === span.endMs - span.startMs) return span
  const endMs = isOld ? now : span.endMs
  const attributes = {
    ...span.attributes,
    'overwinter.started_at': new Date(span.startMs).toISOString(),
    'overwinter.ended_at': new Date(span.endMs).toISOString(),
  }
  return { ...span, startMs: endMs - lengthMs, endMs, attributes }
}

/** The next request: as many of the first spans as one request may have. */
export function firstBatch(spans: readonly Span[]): Span[] {
  let [earliest, latest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let count = 0
  for (const { startMs, endMs } of spans) {
    earliest = Math.min(earliest, startMs)
    latest = Math.max(latest, endMs)
    if (latest - earliest > LONGEST_MS || count === MOST_SPANS) break
    count++
  }
  return spans.slice(0, count)
}
