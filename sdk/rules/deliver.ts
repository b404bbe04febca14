import { hasEnded, type Message, type RunState, type RunStatus } from '../ports/run.ts'
import type { DeliverResult } from '../ports/run-store.ts'
import type { Wake } from '../ports/world.ts'
import { isLeased } from './guard.ts'
import { ask, type Procedure } from './procedure.ts'
import type { Change, Storage, StoredRun, Updated } from './storage.ts'

export function* deliver(
  storage: Storage,
  runId: string,
  message: Message,
  refuse?: (run: RunState) => void,
): Procedure<DeliverResult> {
  const run = yield* ask(storage.find(runId))
  if (!run) return { outcome: 'missing', wakes: [] }
  if (hasEnded(run.status)) return { outcome: 'ended', wakes: [] }
  refuse?.(run)
  const put = yield* ask(storage.putMessage(run, message))
  if (put === 'consumed') return { outcome: 'duplicate', wakes: [] }
  // I6: the counter is bumped after the message is there. Also for a duplicate that still waits: its first sender may
  // have died before coming this far.
  const { outcome, wakes } = yield* stimulate(storage, run, message.kind)
  return { outcome: outcome === 'accepted' && put === 'waiting' ? 'duplicate' : outcome, wakes }
}

/** What a message means for the run depends on its state, which may change in between: then the next look decides. */
function* stimulate(storage: Storage, seen: StoredRun, what: Message['kind'] | 'look'): Procedure<DeliverResult> {
  let run: StoredRun | undefined = seen
  while (run && !hasEnded(run.status)) {
    const { change, wakes } = reaction(run, what, storage.now())
    const updated: Updated = yield* ask(storage.update(run, change))
    if (updated.ok) return { outcome: 'accepted', wakes }
    run = updated.run
  }
  return { outcome: run ? 'ended' : 'missing', wakes: [] }
}

/** Has the run look at what it waits for. */
export function* wakeUp(storage: Storage, run: StoredRun): Procedure<Wake[]> {
  return (yield* stimulate(storage, run, 'look')).wakes
}

/**
 * A stuck run waits for a fix, one with a start time for that time, a queued one for its limiters. The message
 * waits with them.
 */
const SLEEPS_ON: readonly RunStatus[] = ['stuck', 'pending', 'queued']
const SLEEPS_ON_WHEN_CANCELLED: readonly RunStatus[] = ['stuck']

function reaction(run: StoredRun, what: Message['kind'] | 'look', now: number): { change: Change; wakes: Wake[] } {
  const sleepsOn = what === 'cancel' ? SLEEPS_ON_WHEN_CANCELLED : SLEEPS_ON
  const bump = ['stimulus'] as const
  if (isLeased(run, now)) return { change: { when: { open: true, leased: now }, bump }, wakes: [] }
  if (sleepsOn.includes(run.status)) return { change: { when: { open: true, status: sleepsOn }, bump }, wakes: [] }
  const wakeable = { open: true, free: now, notStatus: sleepsOn } as const
  if (run.wakeAt !== undefined && run.wakeAt <= now)
    return { change: { when: { ...wakeable, due: now }, bump }, wakes: [{ runId: run.id, at: run.wakeAt }] }
  return { change: { when: wakeable, set: { wakeAt: now }, bump }, wakes: [{ runId: run.id, at: now }] }
}
