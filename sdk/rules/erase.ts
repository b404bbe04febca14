import { taskId } from '../base/names.ts'
import { hasEnded } from '../ports/run.ts'
import { forgetStarts } from './forget-starts.ts'
import { ask, type Procedure } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'

export type Erased = 'erased' | 'open' | 'missing'

/**
 * Erases everything that is stored of a run that has ended: itself, its journal, its messages, its tasks, its
 * payloads, the starts it was created for.
 */
export function* erase(storage: Storage, runId: string): Procedure<Erased> {
  const run = yield* ask(storage.find(runId))
  if (run) return yield* eraseEnded(storage, run)
  return (yield* ask(storage.eraseRemains(runId))) ? 'erased' : 'missing'
}

/** The same for a run that the caller has read, also past its retention. */
export function* eraseEnded(storage: Storage, run: StoredRun): Procedure<'erased' | 'open'> {
  if (!hasEnded(run.status)) return 'open'
  // A failed run could be retried while its journal goes away: from here on it cannot.
  const isFinal =
    run.status !== 'failed' ||
    (yield* ask(storage.update(run, { when: { status: ['failed'] }, set: { status: 'terminated' } }))).ok
  if (!isFinal) return 'open'
  // Of every generation: a task that an earlier one has handed out is stored for a day after its end.
  const frames = yield* ask(storage.frames(run, 1))
  const handedOut = frames.flatMap(({ events }) => events).filter(({ type }) => type === 'task.dispatched')
  const tasks = new Set(handedOut.map((event) => taskId(run, (event as { id: string }).id)))
  yield* forgetStarts(storage, run, 'all')
  yield* ask(storage.erase(run, [...tasks]))
  return 'erased'
}
