import { createHash } from 'node:crypto'

/**
 * One partition per run. Inside it the order of sort keys is what makes one Query load a run:
 *
 *   D#<sha256>   a payload too large to sit in the run item
 *   J#<seq>      a frame of the journal
 *   M#<id>       a message in the inbox
 *   REMOVAL#…    that everything of the run has to go at a time, and not when DynamoDB gets round to it
 *   RUN          the run itself
 *
 * Beside them each tag has a partition, with an entry for each run that has it, and the workflows have one, so that
 * lists know where to look. Runs of workflows that are not listed there have an entry in the partition of all.
 *
 * The two indexes are spread over shards, because a single index partition takes 1,000 writes a second and a slow
 * index slows the table down.
 */
export const SHARDS = 16
export const LIST_SHARDS = 8

export const RUN = 'RUN'
const REMOVAL = 'REMOVAL#'
export const FIRST_DATA = 'D#'
/** '$' is the character after '#': these end the ranges of frames and of messages. */
export const AFTER_FRAMES = 'J$'
export const FIRST_MESSAGE = 'M#'
export const AFTER_MESSAGES = 'M$'

export interface Key {
  pk: string
  sk: string
}

export const partition = (runId: string): string => `RUN#${runId}`
export const runIdOf = (pk: string): string => pk.slice('RUN#'.length)
export const runKey = (runId: string): Key => ({ pk: partition(runId), sk: RUN })
/** A run that reuses an id must not remove the removal hint of the run before it. */
export const isRemoval = ({ sk }: Pick<Key, 'sk'>): boolean => sk.startsWith(REMOVAL)
export const removalKey = (runId: string, life: string): Key => ({ pk: partition(runId), sk: `${REMOVAL}${life}` })
export const frameKey = (seq: number): string => `J#${String(seq).padStart(10, '0')}`
export const seqOf = (sk: string): number => Number(sk.slice('J#'.length))
export const dataKey = (sha256: string): string => `D#${sha256}`

/** A task has a partition of its own, so that loading its run does not load it. */
export const taskKey = (taskId: string): Key => ({
  pk: `TASK#${Buffer.byteLength(taskId) <= 1_500 ? taskId : `sha256 ${sha256(taskId).toString('hex')}`}`,
  sk: 'TASK',
})

/** Documents have a partition per collection, and sort by their own key. */
export const documentKey = (collection: string, key: string): Key => ({ pk: `DOC#${collection}`, sk: key })

/** A sort key takes 1,024 bytes; an id made from an operation's path can be longer. */
export function messageKey(id: string): string {
  return `M#${Buffer.byteLength(id) <= 900 ? id : `sha256 ${sha256(id).toString('hex')}`}`
}

/** The attributes that put a run into the due index, where the sweeper finds runs that no runner took. */
export function dueIndex(runId: string, at: number): { dueShard: string; dueKey: string } {
  return { dueShard: `${DUE}${shardOf(runId)}`, dueKey: timeKey(at, runId) }
}

export function removalIndex(runId: string, at: number): { dueShard: string; dueKey: string } {
  return { dueShard: `${REMOVALS}${shardOf(runId, REMOVAL_SHARDS)}`, dueKey: timeKey(at, runId) }
}

/** Documents that are due share the due index. */
export function documentDueIndex(collection: string, key: string, at: number): { dueShard: string; dueKey: string } {
  const name = `${collection}\n${key}`
  return { dueShard: `${CHECKS}${shardOf(name, CHECK_SHARDS)}`, dueKey: timeKey(at, name) }
}
export const CHECKS = 'CHECK#'
export const CHECK_SHARDS = 2
/** Of an item that holds a document. */
export const collectionOf = (pk: string): string => pk.slice('DOC#'.length)

/**
 * Stuck and failed runs share the due index, so that listing them is cheap. Sorted by creation, as
 * every list is.
 */
export function troubleIndex(
  runId: string,
  status: 'stuck' | 'failed',
  createdAt: number,
): { dueShard: string; dueKey: string } {
  return { dueShard: `${trouble(status)}${shardOf(runId)}`, dueKey: timeKey(createdAt, runId) }
}

/** Each workflow has shards of its own, so that its runs can be listed without reading those of others. */
export function listIndex(runId: string, workflow: string, createdAt: number): { listShard: string; listKey: string } {
  return { listShard: `${listOf(workflow)}${shardOf(runId, LIST_SHARDS)}`, listKey: createdKey(runId, createdAt) }
}

/** Where a run stands in every list. */
export const createdKey = (runId: string, createdAt: number): string => timeKey(createdAt, runId)

export const tagKey = (tag: string, runId: string, createdAt: number): Key => ({
  pk: tagPartition(tag),
  sk: createdKey(runId, createdAt),
})
export const tagPartition = (tag: string): string => `TAG#${tag}`

/** The partition of runs whose workflow is not listed, sorted by creation. */
export const allKey = (runId: string, createdAt: number): Key => ({
  pk: `${ALL}${shardOf(runId)}`,
  sk: createdKey(runId, createdAt),
})
export const ALL = 'ALL#'

/** Entries in lists that are items of their own. */
export function entryKeys({
  id,
  createdAt,
  tags = [],
  inAll,
}: {
  id: string
  createdAt: number
  tags?: readonly string[]
  inAll?: boolean
}): Key[] {
  return [...tags.map((tag) => tagKey(tag, id, createdAt)), ...(inAll ? [allKey(id, createdAt)] : [])]
}

export const DUE = 'DUE#'
/**
 * Removals share the due index, but under a prefix of their own, so that they do not delay overdue
 * runs.
 */
export const REMOVALS = 'REMOVE#'
export const REMOVAL_SHARDS = 4
/** Where 0.1.0 had the runs of all workflows. */
export const LIST = 'LIST#'
export const listOf = (workflow: string): string => `${LIST}${workflow}#`
export const trouble = (status: 'stuck' | 'failed'): string => `TROUBLE#${status}#`

/** Sorts by time; the hash separates runs of the same millisecond and is shorter than their ids. */
function timeKey(time: number, runId: string): string {
  return `${timeText(time)}#${sha256(runId).toString('base64url').slice(0, 8)}`
}

/** Sorts before every key of that time. */
export const timeText = (time: number): string => String(Math.max(0, Math.trunc(time))).padStart(13, '0')
/** The time in such a key. */
export const timeOf = (key: string): number => Number(key.split('#', 1)[0])

const shardOf = (runId: string, shards = SHARDS): number => sha256(runId)[31]! % shards
const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
