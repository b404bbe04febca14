/** Enough to hide the latency of a call, and few enough for one connection pool and one partition. */
const AT_ONCE = 25

/** Like `Promise.all`, but without opening a thousand connections for a thousand items. Results keep the order. */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length })
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const index = next++
      results[index] = await work(items[index]!)
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker))
  return results
}
