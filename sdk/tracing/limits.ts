import type { Span } from '../views/spans.ts'

/**
 * What CloudWatch takes: spans of the last 14 days, and in one request 10,000 of them, 5 MB, and no two that are further apart than 24 hours. Others are
 * more patient, and lose nothing by it.
 */
export const MOST_SPANS = 10_000
export const MOST_BYTES = 5_000_000
export const LONGEST_MS = 86_400_000
export const OLDEST_MS = 14 * 86_400_000
/** It takes a moment to get there, and clocks differ. */
const MARGIN_MS = 3_600_000

/**
 * A process that died may be found weeks later, and with it what it had not told of. Such a span is told of as of now, and says when it was: a
 * root that never came would leave all the others without a parent.
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

/** The next request: as many spans from the front as one request may have. */
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
