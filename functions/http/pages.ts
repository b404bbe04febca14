/** Lambda answers with 6 MB at most, and API Gateway's envelope escapes every quote. */
const PAGE_BYTES = 4 * 1024 * 1024

/** As many as fit into one answer, and at least one: so that a caller that asks on gets to the end. */
export function fitting<T>(items: readonly T[], most = PAGE_BYTES): T[] {
  let size = 0
  const end = items.findIndex((item, i) => {
    size += Buffer.byteLength(JSON.stringify(item))
    return size > most && i > 0
  })
  return end === -1 ? [...items] : items.slice(0, end)
}
