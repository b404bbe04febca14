/** The name that was probably meant: one that is a few typing errors away. */
export function nearest(name: string, others: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(name.length / 4))
  let best: { other: string; slips: number } | undefined
  for (const other of others) {
    const slips = distance(name.toLowerCase(), other.toLowerCase(), most)
    if (slips <= most && slips < (best?.slips ?? Number.POSITIVE_INFINITY)) best = { other, slips }
  }
  return best?.other
}

/** Letters inserted, omitted, changed or swapped with their neighbour, counted up to a little more than `most`. */
function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      next.push(
        Math.min(row[j]! + 1, next[j - 1]! + 1, changed, isSwap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY),
      )
    }
    ;[before, row] = [row, next]
  }
  return row[b.length]!
}
