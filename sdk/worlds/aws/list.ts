import { InvalidInputError } from '../../base/errors.ts'
import type { RunStatus, Waiting } from '../../ports/run.ts'
import type { RunCounts, RunFilter, RunPage, RunSummary } from '../../ports/run-lists.ts'
import type { Wake } from '../../ports/world.ts'
import { isGone, isLeased } from '../../rules/guard.ts'
import { inShort, summaryOf } from '../../rules/summary.ts'
import type { Aws } from './context.ts'
import { all, type Expression } from './expressions.ts'
import { getItems } from './items.ts'
import {
  ALL,
  CHECK_SHARDS,
  CHECKS,
  collectionOf,
  createdKey,
  DUE,
  LIST,
  LIST_SHARDS,
  listOf,
  partition,
  runIdOf,
  runKey,
  tagPartition,
  timeText,
  trouble,
} from './keys.ts'
import { formerWorkflows, type Listed, listing } from './listed-workflows.ts'
import { unpack } from './payloads.ts'
import { type RunItem, shownWakeAt } from './run-item.ts'
import { type Budget, type IndexEntry, inChunks, merge, type Partition, type Range, shardsOf } from './shards.ts'

/**
 * A page ends here even if it is not full: a filter that few runs match must not turn one call into
 * a scan.
 */
const MOST_ENTRIES = 10_000
const MOST_RUNS = 1_000

export async function listRuns(aws: Aws, filter: RunFilter): Promise<RunPage> {
  const range = rangeOf(filter)
  if (range.from > range.to) return { runs: [] }
  const found: { item: RunItem; at: string }[] = []
  const budget: Budget = { left: MOST_ENTRIES }
  let looked = 0
  for await (const entries of inChunks(entriesOf(aws, filter, range, budget), Math.min(filter.limit + 1, 100))) {
    const candidates = entries.filter(({ at }) => at !== filter.cursor)
    const items = await runItems(aws, candidates)
    for (const [i, item] of items.entries()) {
      const { at, runId } = candidates[i]!
      // An entry may be left from an earlier run that had the id.
      if (item && at === createdKey(runId, item.createdAt) && matches(aws, item, filter)) found.push({ item, at })
    }
    looked += entries.length
    if (found.length > filter.limit) break
    if (looked < MOST_RUNS) continue
    budget.stoppedAt = entries.at(-1)!.at
    break
  }
  const shown = found.slice(0, filter.limit)
  const runs = shown.map(({ item }) => toSummary(item))
  const cursor = found.length > filter.limit ? shown.at(-1)!.at : budget.stoppedAt
  return cursor === undefined ? { runs } : { runs, cursor }
}

/**
 * Runs in trouble have an index of their own, where counting is cheap. Healthy runs could only be
 * counted by reading all.
 */
const MOST_COUNTED = 1_000

export async function countTrouble(aws: Aws): Promise<RunCounts> {
  const counted = (['failed', 'stuck'] as const).map(async (status) => {
    const range: Range = { from: FIRST, to: LAST, newestFirst: true, pageSize: 100 }
    let count = 0
    for await (const _ of merge(aws, shardsOf('due', trouble(status)), range, { left: Number.POSITIVE_INFINITY }))
      if (++count > MOST_COUNTED) break
    return [status, count > MOST_COUNTED ? { count: MOST_COUNTED, isMore: true } : { count }] as const
  })
  return Object.fromEntries(await Promise.all(counted))
}

/** A run that is overdue, and where the due index has it. */
export interface Overdue extends Wake {
  dueKey: string
  /** How often the sweeper has sent it so far. */
  sent: number
}

/**
 * The due index holds each run at its wake-up time plus a grace, and a claim does not change the
 * entry. So a run that a live runner holds is found here too; its lease excludes it. A run that has
 * moved on since is excluded because it is not due.
 */
export async function overdueRuns(aws: Aws, before: number, limit: number): Promise<Overdue[]> {
  const overdue: Overdue[] = []
  const range: Range = { from: '0', to: `${timeText(before)}$`, newestFirst: false, pageSize: Math.min(1_000, limit) }
  for await (const entries of inChunks(
    merge(aws, shardsOf('due', DUE), range, { left: Number.POSITIVE_INFINITY }),
    100,
  )) {
    const now = aws.clock.now()
    for (const [i, item] of (await runItems(aws, entries)).entries()) {
      if (item?.wakeAt === undefined || item.wakeAt > before || isLeased(item, now)) continue
      const { at: dueKey, runId } = entries[i]!
      overdue.push({ runId, at: item.leaseUntil ?? item.wakeAt, dueKey, sent: item.told ?? 0 })
      if (overdue.length === limit) return overdue
    }
  }
  return overdue
}

/**
 * Documents that are due, earliest first. The index may lag, so the caller decides by the document
 * itself.
 */
export async function dueDocuments(
  aws: Aws,
  before: number,
  limit: number,
): Promise<{ collection: string; key: string }[]> {
  const found: { collection: string; key: string }[] = []
  const range: Range = { from: '0', to: `${timeText(before)}$`, newestFirst: false, pageSize: Math.min(1_000, limit) }
  for await (const { pk, sk } of merge(aws, shardsOf('due', CHECKS, undefined, CHECK_SHARDS), range, { left: limit })) {
    found.push({ collection: collectionOf(pk), key: sk })
    if (found.length === limit) break
  }
  return found
}

/** Eventually consistent reads: the index lags as much, and each run is read again before it is sent. */
const runItems = (aws: Aws, entries: readonly IndexEntry[]): Promise<(RunItem | undefined)[]> =>
  getItems<RunItem>(
    aws,
    entries.map(({ runId }) => runKey(runId)),
    false,
  )

function rangeOf({ from, to, cursor, limit }: RunFilter): Range {
  if (cursor !== undefined && !CURSOR.test(cursor))
    throw new InvalidInputError(`'${cursor}' is not a cursor; pass the cursor of the page before, unchanged`)
  const upTo = to === undefined ? LAST : timeText(to)
  return {
    from: from === undefined ? FIRST : timeText(from),
    to: cursor !== undefined && cursor < upTo ? cursor : upTo,
    newestFirst: true,
    pageSize: Math.min(1_000, Math.max(25, limit)),
  }
}

/**
 * The candidates, newest first. Partitions of former workflows may be many, so they are read only
 * for runs that no other partition has.
 */
async function* entriesOf(aws: Aws, filter: RunFilter, range: Range, budget: Budget): AsyncGenerator<IndexEntry> {
  if (isTrouble(filter.status))
    return yield* merge(
      aws,
      shardsOf('due', trouble(filter.status), idStartsWith('pk', filter.idPrefix)),
      range,
      budget,
    )
  const hasPlace = filter.workflow !== undefined && filter.tag === undefined
  const { listed, isFull, formerUntil } = hasPlace ? OF_ONE : await listing(aws)
  const partitions = partitionsOf(filter, listed, isFull)
  const border = `${timeText(formerUntil)}#--------`
  if (range.from >= border || formerUntil === 0) return yield* merge(aws, partitions, range, budget)
  const isRecent = range.to > border && formerUntil < aws.clock.now()
  if (isRecent) yield* merge(aws, partitions, { ...range, from: border }, budget)
  if (budget.stoppedAt !== undefined) return
  const former = workflowPartitions(filter, await formerWorkflows(aws))
  yield* merge(aws, [...partitions, ...former], isRecent ? { ...range, to: border } : range, budget)
}

const OF_ONE = { listed: [], isFull: false, formerUntil: 0 }

/**
 * The narrowest partitions that contain all the runs in question: those of a workflow, of a tag
 * that not every run of its workflow has, or of runs whose workflow is not listed. `matches`
 * filters the rest by the runs themselves.
 */
function partitionsOf(filter: RunFilter, listed: readonly Listed[], isFull: boolean): Partition[] {
  const { workflow, tag, idPrefix } = filter
  const ofWorkflow: Expression | undefined =
    workflow === undefined ? undefined : { text: '#workflow = :workflow', values: { ':workflow': workflow } }
  return [
    ...workflowPartitions(filter, listed),
    ...(isFull ? shardsOf('table', ALL, both(idStartsWith('runId', idPrefix), hasTag(tag))) : []),
    ...(tag === undefined ? [] : [{ index: 'table' as const, value: tagPartition(tag) }]),
    // Runs of 0.1.0, all workflows together.
    ...shardsOf('list', LIST, both(idStartsWith('pk', idPrefix), hasTag(tag), ofWorkflow)),
  ]
}

/** The partitions of one workflow; or of all listed ones, without those whose common tags exclude them. */
function workflowPartitions({ workflow, tag, idPrefix }: RunFilter, listed: readonly Listed[]): Partition[] {
  const asked =
    tag === undefined && workflow !== undefined ? [{ name: workflow }] : listed.filter((each) => each.tag === tag)
  const names = new Set(asked.map(({ name }) => name).filter((name) => name === (workflow ?? name)))
  return [...names].flatMap((name) =>
    shardsOf('list', listOf(name), both(idStartsWith('pk', idPrefix), hasTag(tag)), LIST_SHARDS),
  )
}

const hasTag = (tag: string | undefined): Expression | undefined =>
  tag === undefined ? undefined : { text: 'contains(#tags, :tag)', values: { ':tag': tag } }

/** By the partition key of the run itself, or by the run id in an entry. */
function idStartsWith(name: 'pk' | 'runId', prefix: string | undefined): Expression | undefined {
  if (prefix === undefined) return undefined
  return { text: `begins_with(#${name}, :prefix)`, values: { ':prefix': name === 'pk' ? partition(prefix) : prefix } }
}

function both(...conditions: (Expression | undefined)[]): Expression | undefined {
  const given = conditions.filter((condition) => condition !== undefined)
  return given.length === 0 ? undefined : all(...given)
}

function matches(aws: Aws, item: RunItem, { workflow, tag, status, isOpen, idPrefix }: RunFilter): boolean {
  if (isGone(item, aws.clock.now()) || (isOpen && item.endedAt !== undefined)) return false
  if (idPrefix !== undefined && !runIdOf(item.pk).startsWith(idPrefix)) return false
  return (
    (status ?? item.status) === item.status &&
    (workflow ?? item.workflow) === item.workflow &&
    (tag === undefined || (item.tags ?? []).includes(tag))
  )
}

function toSummary(item: RunItem): RunSummary {
  const { attempt = 1, generation = 0, tags = [] } = item
  const waitingFor = item.waitingFor === undefined ? undefined : (unpack(item.waitingFor) as unknown as Waiting[])
  return summaryOf(
    { ...item, id: runIdOf(item.pk), attempt, generation, tags, wakeAt: shownWakeAt(item), waitingFor },
    shortError(item),
  )
}

/** Runs of earlier versions are stored without the fingerprint that groups their errors into incidents. */
const shortError = ({ workflow, why }: RunItem) => (why && !why.incident ? inShort(workflow, why) : why)

const CURSOR = /^\d{13}#[\w-]{8}$/
const FIRST = '0'
const LAST = ':'

const isTrouble = (status: RunStatus | undefined): status is 'stuck' | 'failed' =>
  status === 'stuck' || status === 'failed'
