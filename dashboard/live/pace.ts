/** How a page that has to ask is paced. Each look at a deployment costs a little, so a page that nobody touches looks seldom, however much happens. */
export const PACE = { shortestMs: 2_000, busyMs: 10_000, longestMs: 30_000, growth: 1.5, attentionMs: 300_000 }

/** How long to wait after a look. `untouchedMs`: since somebody last touched the page. */
export function nextPause(pauseMs: number, isNews: boolean, untouchedMs: number): number {
  const isAttended = untouchedMs < PACE.attentionMs
  return Math.min(pauseMs * PACE.growth, isNews && isAttended ? PACE.busyMs : PACE.longestMs)
}
