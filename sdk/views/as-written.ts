/** What `escapeName` makes of `/`, `:` and `~` inside a name. */
const ESCAPED = /~([012])/g
const WRITTEN: Record<string, string> = { 0: '~', 1: '/', 2: ':' }

/**
 * An operation's id with names as their author wrote them: `tool: search` for `tool~2 search`. For display;
 * identities stay escaped.
 */
export const asWritten = (id: string): string =>
  id.includes('~') ? id.replaceAll(ESCAPED, (_, code: string) => WRITTEN[code]!) : id

/** The stored id for an id that a person typed, in stored or in written form; an unknown id is returned as it is. */
export function meantId(given: string, ids: Iterable<string>): string {
  let meant: string | undefined
  for (const id of ids) {
    if (id === given) return id
    if (asWritten(id) === given) meant ??= id
  }
  return meant ?? given
}

/** What the ids of runs of schedules begin with. Behind it the schedule's name is spelt so that it fits an id. */
const SCHEDULE = 'schedule.'
const SPELT = /~(?:u([0-9a-f]{4})|([0-9a-f]{2}))/g
const NOT_IN_IDS = /[^A-Za-z0-9._:@+=~-]/g

/** `schedule.weekly totals` for `schedule.weekly~20totals`. */
export function runIdAsWritten(id: string): string {
  if (!id.startsWith(SCHEDULE)) return id
  return id.replaceAll(SPELT, (_, long: string | undefined, short: string) =>
    String.fromCharCode(Number.parseInt(long ?? short, 16)),
  )
}

/** The id of a run, given as it is or as `runIdAsWritten` shows it. */
export function meantRunId(given: string): string {
  if (!given.startsWith(SCHEDULE)) return given
  return given.replaceAll(NOT_IN_IDS, (char) => {
    const code = char.charCodeAt(0)
    return code < 0x100 ? `~${code.toString(16).padStart(2, '0')}` : `~u${code.toString(16).padStart(4, '0')}`
  })
}
