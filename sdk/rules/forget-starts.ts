import type { Json } from '../engine/json.ts'
import { type Entry, emptied, entryOf, PLACES_KEPT_MS, place, REPEATS, REPEATS_KEPT_MS, startsOf } from '../flow/starts-log.ts'
import { ask, type Procedure } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'

/**
 * Empties the places of the starts that a run was made for: it has ended, and takes none of them any more. Where the run
 * stays, a start that is repeated under its key is still answered with it; where it is erased, nothing is known of it.
 */
export function* forgetStarts(storage: Storage, run: StoredRun, which: 'payloads' | 'all'): Procedure<void> {
  const { gathering, gathered = gathering } = run.admission ?? {}
  if (!gathered) return
  const collection = startsOf(run.workflow, gathered.key)
  const now = storage.now()
  for (const found of yield* ask(storage.documents.list(collection, { after: place(gathered.first - 1) }))) {
    const entry = entryOf(found)
    if (entry.first > gathered.first) return
    if (entry.run !== run.id || isEmpty(entry)) continue
    if (which === 'payloads') yield* remember(storage, entry, now)
    const options = { ifVersion: found.version, expiresAt: now + PLACES_KEPT_MS }
    yield* ask(storage.documents.put(collection, found.key, emptied(entry) as unknown as Json, options))
  }
}

const isEmpty = ({ input, parsed, key }: Entry): boolean => input === undefined && parsed === undefined && key === undefined

function* remember(storage: Storage, { run, key, digest }: Entry, now: number): Procedure<void> {
  if (key === undefined) return
  const repeat = { run, ...(digest !== undefined && { input: digest }) }
  yield* ask(storage.documents.put(REPEATS, key, repeat, { expiresAt: now + REPEATS_KEPT_MS }))
}
