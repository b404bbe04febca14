import { CHECK_EVERY_MS, type LimiterId } from '../../flow/limiter.ts'
import type { QueueEntry } from '../../flow/queue.ts'
import type { Admission, Gate } from '../../flow/admission.ts'
import type { Wake } from '../../ports.ts'
import { type Procedure, together } from '../procedure.ts'
import type { Storage, StoredRun } from '../storage.ts'
import { type Dispatched, dispatch } from './dispatch.ts'
import { nextEntries, putEntry, type Queued } from './entries.ts'
import type { InForce } from './record.ts'
import { checkBy, readState, type Seen } from './state.ts'

/** Queues a request, and grants it where there is room. Doing it again is harmless. */
export function* enqueue(storage: Storage, id: LimiterId, entry: QueueEntry, known?: InForce): Procedure<Dispatched> {
  yield* putEntry(storage, id, entry)
  const [seen, [first]] = (yield* together<unknown>([readState(storage, id), nextEntries(storage, id, undefined, 1)])) as [Seen, Queued[]]
  yield* checkBy(storage, id, storage.now() + CHECK_EVERY_MS, seen)
  // Whoever put another request there has looked for free slots since, and every slot released after that goes to the queue.
  const isBehind = storage.isContended && first !== undefined && first.entry.holder !== entry.holder
  return isBehind ? { wakes: [], granted: new Map() } : yield* dispatch(storage, id, undefined, known)
}

/** Queues a run at the limiter that it has to pass next. */
export function* queueUp(storage: Storage, run: StoredRun): Procedure<Wake[]> {
  const gate = run.admission?.gates[run.passed ?? 0]
  return gate ? (yield* enqueue(storage, gate, entryOf(run, gate))).wakes : []
}

/** The request of a run. Each time that it is queued has an entry of its own. */
export function entryOf({ id, epoch = 0, admission }: { id: string; admission?: Admission | undefined; epoch?: number }, { lane = '', holds }: Gate): QueueEntry {
  return { run: id, holder: id, cost: 1, holds: holds === true, lane, order: admission!.order, ...(epoch > 0 && { nth: epoch }) }
}
