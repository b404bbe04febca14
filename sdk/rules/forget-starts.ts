import type { Json } from '../base/json.ts'
import { REPEATS, REPEATS_KEPT_MS } from '../flow/coalescing/coalescing.ts'
import { type Entry, emptied, entryOf, PLACES_KEPT_MS, place, startsOf } from '../flow/coalescing/starts-log.ts'
import { abandonStarts } from './coalescing/collect.ts'
import { ask, type Procedure } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'

/**
 * Removes the starts that a run was created for: it has ended, and takes none of them any more. Where the run
 * stays, a start that is repeated under its key is still answered with it.
 */
export function* forgetStarts(storage: Storage, run: StoredRun, which: 'payloads' | 'all'): Procedure<void> {
  const { gathering, gathered = gathering } = run.admission ?? {}
  if (!gathered) return
  if (gathered.series !== undefined) {
    // What it has taken is removed; what it owns is erased with it.
    if (gathering) yield* abandonStarts(storage, run, gathering)
    return
  }
  const collection = startsOf(run.workflow, gathered.key)
  const now = storage.now()
  for (const found of yield* ask(storage.documents.list(collection, { after: place(gathered.first - 1) }))) {
    const entry = entryOf(found)
    if (entry.first > gathered.first) return
    // Places that are empty already expire; also what closed the log expires, once nothing is before it.
    if (entry.run !== run.id || found.expiresAt !== undefined) continue
    if (which === 'payloads') yield* remember(storage, entry, now)
    const options = { ifVersion: found.version, expiresAt: now + PLACES_KEPT_MS }
    yield* ask(storage.documents.put(collection, found.key, emptied(entry) as unknown as Json, options))
  }
}

function* remember(storage: Storage, { run, key, digest }: Entry, now: number): Procedure<void> {
  if (key === undefined) return
  const repeat = { run, ...(digest !== undefined && { input: digest }) }
  yield* ask(storage.documents.put(REPEATS, key, repeat, { expiresAt: now + REPEATS_KEPT_MS }))
}
