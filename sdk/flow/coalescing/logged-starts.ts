/**
 * Starts that 0.1 has stored: in a log of documents, one for each workflow and key, whose places are written once. No
 * start is added to such a log any more. Runs that were created with one take their starts from it, and empty it.
 */
import { InvalidInputError } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import type { Accepted } from '../../base/schema.ts'
import type { Document, DocumentStore } from '../../ports/documents.ts'
import { hasEnded } from '../../ports/run.ts'
import type { World } from '../../ports/world.ts'
import { ask, type Procedure } from '../../rules/procedure.ts'
import type { StoredDocuments } from '../../rules/storage.ts'
import type { AnyWorkflow } from '../../workflow.ts'
import {
  acceptedOf,
  type CoalescedStarts,
  inputDigest,
  inputFrom,
  REPEATS,
  REPEATS_KEPT_MS,
  timesOf,
} from './coalescing.ts'
import { type Entry, emptied, entryOf, PLACES_KEPT_MS, place, startsOf } from './starts-log.ts'

interface Placed {
  n: number
  entry: Entry
}

const placedOf = (found: Document): Placed => ({ n: Number(found.key), entry: entryOf(found) })
const listFrom = (documents: DocumentStore, collection: string, n: number): Promise<Document[]> =>
  documents.list(collection, { after: place(n - 1) })

/** The start of this idempotency key, if it is in the log. Where there is no log, that is one read of nothing. */
export function* findLogged(
  documents: StoredDocuments,
  workflow: string,
  key: string,
  repeat: string,
): Procedure<{ run: string; input?: string } | undefined> {
  const collection = startsOf(workflow, key)
  const [last] = yield* ask(documents.list(collection, { backwards: true, limit: 1 }))
  if (!last) return undefined
  const all = yield* ask(documents.list(collection, { after: place(entryOf(last).from - 1) }))
  const found = all.map(entryOf).find((entry) => entry.key === repeat)
  return found && { run: found.run, ...(found.digest !== undefined && { input: found.digest }) }
}

/** What has come for a run: its input, or when to look again. */
export async function takeLogged(
  { documents, clock }: World,
  workflow: AnyWorkflow,
  runId: string,
  { key, first, all: isList }: CoalescedStarts,
): Promise<{ accepted: Accepted } | { lookAt: number }> {
  const { debounce, batch } = timesOf(workflow)
  const collection = startsOf(workflow.name, key)
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
      const quiet = debounce && last.at + debounce.waitMs
      const latest = debounce?.maxMs === undefined ? Number.POSITIVE_INFINITY : last.since + debounce.maxMs
      const lookAt = quiet !== undefined ? Math.min(quiet, latest) : batch ? last.since + batch.waitMs : now
      if (lookAt > now) return { lookAt }
      const { run, from, since } = last
      const closing: Entry = { run, first, from, since, at: now, closed: true }
      const next = place(found.at(-1)!.n + 1)
      // A start that a process of 0.1 added meanwhile counts too.
      if (!(await documents.put(collection, next, closing as unknown as Json, { ifVersion: 0 }))) continue
    }
    return { accepted: inputFrom(workflow, isList === true, starts.map(acceptedOf)) }
  }
}

/** The run has its input, so the log is emptied up to there, of what runners before this one have left in it too. */
export async function forgetLogged(
  { documents, clock, store }: World,
  workflow: string,
  runId: string,
  { key, first }: CoalescedStarts,
): Promise<void> {
  const collection = startsOf(workflow, key)
  const [own] = await documents.list(collection, { after: place(first - 1), limit: 1 })
  if (!own) return
  const now = clock.now()
  const done = new Map<string, boolean | undefined>([[runId, true]])
  for (const each of await listFrom(documents, collection, entryOf(own).from)) {
    const entry = entryOf(each)
    if (entry.first > first) return
    if (!done.has(entry.run)) done.set(entry.run, await hasItsInput(store, entry.run))
    if (done.get(entry.run) === false || each.expiresAt !== undefined) continue
    if (entry.key !== undefined && done.get(entry.run)) {
      const repeat = { run: entry.run, input: inputDigest(entry.input) }
      await documents.put(REPEATS, entry.key, repeat, { expiresAt: now + REPEATS_KEPT_MS })
    }
    const options = { ifVersion: each.version, expiresAt: now + PLACES_KEPT_MS }
    await documents.put(collection, each.key, emptied(entry) as unknown as Json, options)
  }
}

/** Or has no use for it any more. Undefined where the run was never created, because its sender died. */
async function hasItsInput(store: World['store'], runId: string): Promise<boolean | undefined> {
  const run = await store.get(runId)
  return run && (!run.admission?.gathering || hasEnded(run.status))
}
