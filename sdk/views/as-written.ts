/** What `escapeName` makes of `/`, `:` and `~` inside a name. */
const ESCAPED = /~([012])/g
const WRITTEN: Record<string, string> = { 0: '~', 1: '/', 2: ':' }

/** An operation's id as its author wrote the names: `tool: search` for `tool~2 search`. People read it; identities stay escaped. */
export const asWritten = (id: string): string => (id.includes('~') ? id.replaceAll(ESCAPED, (_, code: string) => WRITTEN[code]!) : id)

/** The id that people mean, given as it is stored or as it was written; what is meant by none stays as it is. */
export function meantId(given: string, ids: Iterable<string>): string {
  let meant: string | undefined
  for (const id of ids) {
    if (id === given) return id
    if (asWritten(id) === given) meant ??= id
  }
  return meant ?? given
}
