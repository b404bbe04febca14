import type { Json } from '../../base/json.ts'
import {
  CHECK_EVERY_MS,
  isSameLimiter,
  type LimiterId,
  limiterKey,
  limitersOf,
  queueOf,
  slotsOf,
} from '../../flow/limiter/limiter.ts'
import { runOf } from '../../flow/limiter/queue.ts'
import { blocksOf, FREE_SLOT_KEPT_MS, type SlotState } from '../../flow/limiter/slots.ts'
import type { Wake } from '../../ports/world.ts'
import { wakeUp } from '../deliver.ts'
import { ask, type Procedure } from '../procedure.ts'
import type { Storage, StoredRun } from '../storage.ts'
import { removeEntry } from './entries.ts'
import { queueUp } from './queueing.ts'
import { limitOf } from './record.ts'
import { readState } from './state.ts'

/**
 * Drops what cannot be read of a limiter, because an operator asked for it. A state begins anew, and a slot is
 * free: its unknown holder goes on beside the next one. No request is lost, because its owner's own record has it
 * too.
 */
export function* dropUnreadable(storage: Storage, id: LimiterId): Procedure<Wake[]> {
  yield* dropState(storage, id)
  yield* dropSlots(storage, id)
  return yield* requestAnew(storage, id)
}

function* dropState(storage: Storage, id: LimiterId): Procedure<void> {
  const { found } = yield* readState(storage, id)
  if (!found?.unreadable) return
  const options = { ifVersion: found.version, dueAt: storage.now() + CHECK_EVERY_MS }
  yield* ask(storage.documents.put(limitersOf(id.limit), limiterKey(id), {}, options))
}

function* dropSlots(storage: Storage, id: LimiterId): Procedure<void> {
  const { widest } = yield* limitOf(storage, id)
  const free: SlotState = { holder: '', since: storage.now() }
  for (let block = 0; block < blocksOf(widest); block++) {
    const collection = slotsOf(id, block)
    for (const { key, version, unreadable } of yield* ask(storage.documents.list(collection))) {
      if (!unreadable) continue
      const options = { ifVersion: version, expiresAt: storage.now() + FREE_SLOT_KEPT_MS }
      if (Number.isInteger(Number(key))) {
        yield* ask(storage.documents.put(collection, key, free as unknown as Json, options))
      } else yield* ask(storage.documents.remove(collection, key))
    }
  }
}

/** A run is queued again as its record says; a step's run is woken, finds no request of the step, and makes another. */
function* requestAnew(storage: Storage, id: LimiterId): Procedure<Wake[]> {
  const wakes: Wake[] = []
  for (const { key, unreadable } of yield* ask(storage.documents.list(queueOf(id)))) {
    if (!unreadable) continue
    yield* removeEntry(storage, id, key)
    const run = yield* ownerOf(storage, key)
    const isQueuedHere = run?.status === 'queued' && isSameLimiter(run.admission?.gates[run.passed ?? 0], id)
    if (isQueuedHere) wakes.push(...(yield* queueUp(storage, run)))
    else if (run) wakes.push(...(yield* wakeUp(storage, run)))
  }
  return wakes
}

/** The key of a request ends with its holder, and the number of the request (`entryKey`). */
function* ownerOf(storage: Storage, key: string): Procedure<StoredRun | undefined> {
  const name = runOf(key.split('/').slice(2).join('/'))
  return (yield* ask(storage.find(name))) ?? (yield* ask(storage.find(name.replace(/#\d+$/, ''))))
}
