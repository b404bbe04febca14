import { InvalidInputError } from '../../engine/errors.ts'
import type { RunFilter, RunPage, RunRecord, RunStatus, Wake } from '../../ports.ts'
import { isGone, isLeased } from '../../rules/guard.ts'
import { inParallel } from '../../rules/procedure.ts'
import type { Aws } from './context.ts'
import { all, type Expression } from './expressions.ts'
import { getItems } from './items.ts'
import { DUE, LIST, runIdOf, runKey, timeText, trouble } from './keys.ts'
import type { RunItem } from './run-item.ts'
import { type IndexEntry, type IndexRange, inChunks, mergeShards } from './shards.ts'

/** A page ends here even if it is not full: a status that hardly any run has must not turn one call into a scan. */
const MOST_LOOKED_AT = 5_000

export async function listRuns(aws: Aws, filter: RunFilter, toRecord: (item: RunItem) => Promise<RunRecord>): Promise<RunPage> {
  const found: { item: RunItem; at: string }[] = []
  let looked = 0
  let stoppedAt: string | undefined
  for await (const entries of inChunks(mergeShards(aws, rangeOf(filter)), Math.min(filter.limit + 1, 100))) {
    const candidates = entries.filter(({ at }) => at !== filter.cursor)
    const items = await runItems(aws, candidates)
    for (const [i, item] of items.entries()) if (item && matches(aws, item, filter)) found.push({ item, at: candidates[i]!.at })
    looked += entries.length
    if (found.length > filter.limit) break
    if (looked >= MOST_LOOKED_AT) {
      stoppedAt = entries.at(-1)!.at
      break
    }
  }
  const shown = found.slice(0, filter.limit)
  const runs = await inParallel(shown, ({ item }) => toRecord(item))
  const cursor = found.length > filter.limit ? shown.at(-1)!.at : stoppedAt
  return cursor === undefined ? { runs } : { runs, cursor }
}

/**
 * The due index holds each run at the time it was to be woken plus a grace, and a claim does not touch it. So a run that
 * is in good hands is found here too, and left out because its lease lives; and one that has moved on since, because it
 * is not due.
 */
export async function overdueRuns(aws: Aws, before: number, limit: number): Promise<Wake[]> {
  const overdue: Wake[] = []
  const range = { index: 'due', prefix: DUE, from: '0', to: `${timeText(before)}$`, newestFirst: false, pageSize: Math.min(1_000, limit) } as const
  for await (const entries of inChunks(mergeShards(aws, range), 100)) {
    const now = aws.clock.now()
    for (const item of await runItems(aws, entries)) {
      if (item?.wakeAt === undefined || item.wakeAt > before || isLeased(item, now)) continue
      overdue.push({ runId: runIdOf(item.pk), at: item.leaseUntil ?? item.wakeAt })
      if (overdue.length === limit) return overdue
    }
  }
  return overdue
}

const runItems = (aws: Aws, entries: readonly IndexEntry[]): Promise<(RunItem | undefined)[]> =>
  getItems<RunItem>(
    aws,
    entries.map(({ runId }) => runKey(runId)),
  )

function rangeOf(filter: RunFilter): IndexRange {
  const { workflow, tag, status, from, to, cursor, limit } = filter
  if (cursor !== undefined && !CURSOR.test(cursor)) throw new InvalidInputError(`'${cursor}' is not a cursor; pass the cursor of the page before, unchanged`)
  const upTo = to === undefined ? LAST : timeText(to)
  const range = {
    from: from === undefined ? FIRST : timeText(from),
    to: cursor !== undefined && cursor < upTo ? cursor : upTo,
    newestFirst: true,
    pageSize: Math.min(1_000, Math.max(25, limit)),
  }
  // The due index knows the runs in trouble and nothing about them; `matches` does the rest.
  if (isTrouble(status)) return { ...range, index: 'due', prefix: trouble(status) }
  const conditions: Expression[] = []
  if (workflow !== undefined) conditions.push({ text: '#workflow = :workflow', values: { ':workflow': workflow } })
  if (tag !== undefined) conditions.push({ text: 'contains(#tags, :tag)', values: { ':tag': tag } })
  return { ...range, index: 'list', prefix: LIST, ...(conditions.length > 0 && { filter: all(...conditions) }) }
}

function matches(aws: Aws, item: RunItem, { workflow, tag, status, isOpen }: RunFilter): boolean {
  if (isGone(item, aws.clock.now()) || (isOpen && item.endedAt !== undefined)) return false
  return (status ?? item.status) === item.status && (workflow ?? item.workflow) === item.workflow && (tag === undefined || (item.tags ?? []).includes(tag))
}

const CURSOR = /^\d{13}#[\w-]{8}$/
const FIRST = '0'
const LAST = ':'

const isTrouble = (status: RunStatus | undefined): status is 'stuck' | 'failed' => status === 'stuck' || status === 'failed'
