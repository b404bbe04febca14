/**
 * The intervals of a polling page. Each poll of a deployment costs a little, so a page without input polls
 * seldom, however much happens.
 */
export const PACE = { shortestMs: 2_000, busyMs: 10_000, longestMs: 30_000, growth: 1.5, attentionMs: 300_000 }

/** The pause after a poll. `untouchedMs`: the time since the last input on the page. */
export function nextPause(pauseMs: number, isNews: boolean, untouchedMs: number): number {
  const isAttended = untouchedMs < PACE.attentionMs
  return Math.min(pauseMs * PACE.growth, isNews && isAttended ? PACE.busyMs : PACE.longestMs)
}
