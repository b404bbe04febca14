/**
 * A list that does not move while the user points at it or navigates in it: every row keeps its place, with
 * current data. New rows wait (`arrived`); rows loaded beyond the end are appended.
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
