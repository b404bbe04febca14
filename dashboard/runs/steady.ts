/**
 * A list as it is while somebody points at it or moves in it: every row stays in its place, with what is known of it now. What is
 * new waits (`arrived`); what was loaded beyond the last row is put behind it.
 */
export function steady<T extends { runId: string }>(
  shown: readonly T[],
  fresh: readonly T[],
): { rows: T[]; arrived: number } {
  const known = new Map(fresh.map((run) => [run.runId, run]))
  const isShown = new Set(shown.map(({ runId }) => runId))
  const last = fresh.findLastIndex(({ runId }) => isShown.has(runId))
  const beyond = last === -1 ? [] : fresh.slice(last + 1)
  const arrived = fresh.filter(({ runId }, i) => !isShown.has(runId) && (i < last || last === -1)).length
  return { rows: [...shown.map((run) => known.get(run.runId) ?? run), ...beyond], arrived }
}
