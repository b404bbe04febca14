import { milliseconds } from '../engine/duration.ts'
import { ConflictError, InvalidInputError } from '../engine/errors.ts'
import { canonicalJson, type Json } from '../engine/json.ts'
import { digest } from '../engine/names.ts'
import { type Document, type DocumentStore, hasEnded, type NewRun, type RunStatus, type World } from '../ports.ts'
import { type Accepted, accept } from '../schema.ts'
import type { AnyWorkflow } from '../workflow.ts'
import { keyFor } from './admission.ts'
import { BEING_MADE_MS } from './limiter.ts'
import { type Entry, emptied, entryOf, type Gathering, PLACES_KEPT_MS, place, REPEATS, REPEATS_KEPT_MS, startsOf } from './starts-log.ts'

const gathers = ({ options: { debounce, batch } }: AnyWorkflow) => debounce ?? batch

/** Starts of this workflow become one run. */
export const isGathered = (workflow: AnyWorkflow): boolean => gathers(workflow) !== undefined

/** The one run of a start that has no company: a child, or a start that chose its own time. */
export function alone(workflow: AnyWorkflow, accepted: Accepted): Accepted {
  return workflow.options.batch ? together([accepted]) : accepted
}

/** The list that a batched run goes on with: each of it is what a caller passes. */
export async function acceptBatch({ options: { input } }: AnyWorkflow, given: unknown, what: string): Promise<Accepted> {
  if (!Array.isArray(given)) throw new InvalidInputError(`${what} must be a list, as its runs get, since it has a batch`)
  return together(await Promise.all(given.map((one) => accept(input, one, what))))
}

/** Adds a start, and gives the run that gets it: `newRun` makes it, for whoever comes first. */
export async function gather(
  world: World,
  workflow: AnyWorkflow,
  accepted: Accepted,
  idempotencyKey: string | undefined,
  ownTags: readonly string[],
  newRun: (fields: Pick<NewRun, 'id' | 'wakeAt'> & { gathering: Gathering }) => NewRun,
): Promise<{ run: NewRun } | { joins: Joined }> {
  const { debounce, batch } = workflow.options
  const of = (debounce ?? batch!).key
  const key = of ? await keyFor(workflow, `the key of workflow '${workflow.name}'`, of, accepted) : ''
  const collection = startsOf(workflow.name, key)
  const { documents, clock, ids, store } = world
  const repeat = idempotencyKey === undefined ? undefined : digest(`${workflow.name}\n${key}\n${idempotencyKey}`)
  const wait = milliseconds((debounce ?? batch!).wait, `the wait of workflow '${workflow.name}'`)
  /** Also for a start that is repeated: whoever sent it first may have died before the run was there. */
  const joined = async (n: number, { run, first, since }: Entry) => {
    const isFull = batch !== undefined && n - first + 1 >= batch.size
    const state = n === first ? undefined : await store.state(run)
    if (state) return { joins: { runId: run, status: state.status, isFull } }
    return { run: newRun({ id: run, wakeAt: isFull ? clock.now() : since + wait, gathering: { key, first, ...(batch && { all: true }) } }) }
  }
  for (;;) {
    const last = await lastOf(documents, collection)
    const now = clock.now()
    const n = last ? last.n + 1 : 1
    const before = repeat === undefined ? undefined : await findRepeat(documents, collection, last?.entry.from ?? n, repeat)
    if (before?.inLog) return joined(before.inLog.n, sameInput(before.inLog.entry, accepted))
    if (before?.input !== undefined && before.input !== digest(canonicalJson(accepted.input))) throw otherInput(before.run)
    if (before) return { joins: { runId: before.run, status: (await store.state(before.run))?.status ?? 'completed', isFull: false } }
    const isOpen = last && !last.entry.closed && !(batch && n - last.entry.first >= batch.size) && (await mayJoin(store, last.entry, now))
    const { run, first, from, since } = isOpen
      ? last.entry
      : { run: ids.runId(), first: n, from: last ? await clearedBefore(documents, collection, last.entry.from, n) : n, since: now }
    // A log of before they were in it is one of a run that has them all the same.
    const tags = (isOpen && last.entry.tags) || [...ownTags]
    const known = repeat && { key: repeat, digest: digest(canonicalJson(accepted.input)) }
    const entry: Entry = {
      run,
      first,
      from,
      since,
      at: now,
      ...(tags.length > 0 && { tags }),
      ...(accepted as Pick<Entry, 'input' | 'parsed' | 'reparse'>),
      ...known,
    }
    if (await documents.put(collection, place(n), entry as unknown as Json, { ifVersion: 0 })) return joined(n, entry)
  }
}

/** A start that is one more of a run that is there. */
export interface Joined {
  runId: string
  status: RunStatus
  /** It was the last that there was room for. */
  isFull: boolean
}

/** The run that it was made for takes more: it has not ended, or is just being made. */
async function mayJoin(store: World['store'], { run, since }: Entry, now: number): Promise<boolean> {
  const state = await store.state(run)
  return state ? !hasEnded(state.status) : now - since < BEING_MADE_MS
}

/**
 * What was started under the same key. Places are written once, so whoever gets the next one has seen all before it. What is cleared away is noted elsewhere first, so
 * that is where to look last.
 */
async function findRepeat(documents: DocumentStore, collection: string, from: number, key: string): Promise<Repeat | undefined> {
  const inLog = (await listFrom(documents, collection, from)).map(placedOf).find(({ entry }) => entry.key === key)
  if (inLog) return { run: inLog.entry.run, inLog }
  return (await documents.get(REPEATS, key))?.value as unknown as Repeat | undefined
}

interface Repeat {
  run: string
  /** A digest of what was started. */
  input?: string
  /** While it is there. */
  inLog?: Placed
}

function sameInput(entry: Entry, { input }: Accepted): Entry {
  if (canonicalJson(entry.input) === canonicalJson(input)) return entry
  throw otherInput(entry.run)
}

const otherInput = (run: string) =>
  new ConflictError(`another input was started under this idempotency key, for run '${run}'; a start that is repeated has the same input`)

/** The first place, from this one on, before which all is cleared. */
async function clearedBefore(documents: DocumentStore, collection: string, from: number, next: number): Promise<number> {
  return (await listFrom(documents, collection, from)).map(placedOf).find(({ entry }) => !entry.cleared)?.n ?? next
}

const listFrom = (documents: DocumentStore, collection: string, n: number): Promise<Document[]> => documents.list(collection, { after: place(n - 1) })

interface Placed {
  n: number
  entry: Entry
}

async function lastOf(documents: DocumentStore, collection: string): Promise<Placed | undefined> {
  const [last] = await documents.list(collection, { backwards: true, limit: 1 })
  return last && placedOf(last)
}

const placedOf = (found: Document): Placed => ({ n: Number(found.key), entry: entryOf(found) })

/** What has come for a run: its input, or when to look again. */
export async function takeGathered(
  world: World,
  workflow: AnyWorkflow,
  runId: string,
  { key, first, all: isList }: Gathering,
): Promise<{ accepted: Accepted } | { lookAt: number }> {
  const { debounce, batch } = workflow.options
  const collection = startsOf(workflow.name, key)
  const { documents, clock } = world
  for (;;) {
    const all = (await listFrom(documents, collection, first)).map(placedOf)
    const found = all.filter(({ entry }) => entry.run === runId)
    const starts = found.map(({ entry }) => entry).filter(({ closed }) => !closed)
    // Also by a start behind it that is for another run: its batch was full, when its size was another one.
    const isClosed = starts.length < all.length
    const last = starts.at(-1)
    if (!last) throw new InvalidInputError(`the starts that run '${runId}' was made for are gone`)
    const now = clock.now()
    if (!isClosed && !(batch && starts.length >= batch.size)) {
      // Code that gathers no more takes what there is.
      const lookAt = debounce ? quietFrom(workflow, last) : batch ? last.since + milliseconds(batch.wait, 'batch.wait') : now
      if (lookAt > now) return { lookAt }
      const { run, from, since } = last
      const closing: Entry = { run, first, from, since, at: now, closed: true }
      // Where another start has got there first, it counts too.
      if (!(await documents.put(collection, place(found.at(-1)!.n + 1), closing as unknown as Json, { ifVersion: 0 }))) continue
    }
    // As its starts were made for, whatever its code has become since: one more that it cannot take is better than one less.
    const counting = isList ? starts : [last]
    return { accepted: batch || counting.length > 1 ? together(counting.map(acceptedOf)) : acceptedOf(last) }
  }
}

function quietFrom({ name, options: { debounce } }: AnyWorkflow, { at, since }: Entry): number {
  const { wait, max } = debounce!
  const quiet = at + milliseconds(wait, `debounce.wait of workflow '${name}'`)
  return max === undefined ? quiet : Math.min(quiet, since + milliseconds(max, `debounce.max of workflow '${name}'`))
}

/** The run has its input; the log need not. Those that died at this point are cleared away by the next one. */
export async function forgetGathered({ documents, clock, store }: World, workflow: string, runId: string, { key, first }: Gathering): Promise<void> {
  const collection = startsOf(workflow, key)
  const [own] = await documents.list(collection, { after: place(first - 1), limit: 1 })
  if (!own) return
  const now = clock.now()
  const done = new Map<string, boolean | undefined>([[runId, true]])
  let isCleared = true
  for (const each of await listFrom(documents, collection, entryOf(own).from)) {
    const entry = entryOf(each)
    if (entry.first > first) return
    if (!done.has(entry.run)) done.set(entry.run, await hasItsInput(store, entry.run))
    if (done.get(entry.run) === false) isCleared = false
    else if (!entry.cleared) {
      if (entry.key !== undefined && done.get(entry.run))
        await documents.put(REPEATS, entry.key, { run: entry.run, input: digest(canonicalJson(entry.input)) }, { expiresAt: now + REPEATS_KEPT_MS })
      const cleared: Entry = { ...emptied(entry), ...(isCleared && { cleared: true }) }
      await documents.put(collection, each.key, cleared as unknown as Json, { ifVersion: each.version, expiresAt: now + PLACES_KEPT_MS })
    }
  }
}

/** Or has no use for it any more. Undefined where it was never made, because whoever was to make it died: nobody was told of it, and who repeats the start starts anew. */
async function hasItsInput(store: World['store'], runId: string): Promise<boolean | undefined> {
  const run = await store.get(runId)
  return run && (!run.admission?.gathering || hasEnded(run.status))
}

const acceptedOf = ({ input, parsed, reparse }: Entry): Accepted => ({ input, ...(parsed !== undefined && { parsed }), ...(reparse && { reparse }) })

function together(all: readonly Accepted[]): Accepted {
  const input = all.map((each) => each.input ?? null)
  if (all.some(({ reparse }) => reparse)) return { input, reparse: true }
  return all.some(({ parsed }) => parsed !== undefined) ? { input, parsed: all.map((each) => each.parsed ?? each.input ?? null) } : { input }
}
