import type { DeliverResult } from '../ports/run-store.ts'
import type { Wake } from '../ports/world.ts'
import { withdrawn } from '../tasks/lifecycle.ts'
import { isNewer, messageOf, type NewTask, type Task } from '../tasks/task.ts'
import { deliver } from './deliver.ts'
import { release } from './limiters/release.ts'
import { ask, type Procedure } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'

/** Doing it again is harmless: it only makes sure that workers hear of a task that waits. */
export function* dispatchTask(storage: Storage, run: StoredRun, task: NewTask): Procedure<void> {
  let put = yield* ask(storage.putTask(run, task))
  while (!put.ok) {
    const { there } = put
    if (there && !isNewer(task, there)) {
      if (!isNewer(there, task) && there.state === 'waiting') yield* ask(storage.announceTask(there, task.input))
      return
    }
    put = yield* ask(storage.putTask(run, task, there))
  }
  yield* ask(storage.announceTask(put.task, task.input))
}

/** A worker or queue that still has a notice of it drops the notice. */
export function* withdrawTask(
  storage: Storage,
  which: Pick<NewTask, 'id' | 'life' | 'generation' | 'round'>,
): Procedure<void> {
  for (;;) {
    const task = yield* ask(storage.findTask(which.id))
    if (!task || task.state === 'settled' || isNewer(task, which)) return
    if (yield* ask(storage.writeTask(withdrawn(task)))) return
  }
}

/**
 * The task first, then its run: a crash between the two leaves something behind that leads the next caller here
 * again.
 */
export function* settleTask(
  storage: Storage,
  task: Task,
): Procedure<{ saved: boolean; outcome?: DeliverResult['outcome']; wakes: Wake[] }> {
  if (!(yield* ask(storage.writeTask(task)))) return { saved: false, wakes: [] }
  const message = messageOf(task)
  const delivered = message ? yield* deliver(storage, task.runId, message) : { wakes: [] }
  const { gate, holder } = task.inside ?? {}
  const left = gate ? yield* release(storage, gate, { holder: holder!, lane: '', order: 0, state: 'held' }) : []
  yield* ask(storage.dismissTask(task))
  return { saved: true, ...delivered, wakes: [...delivered.wakes, ...left] }
}
