import { outgoingAtEnd } from '../engine/ending.ts'
import { type Frame, isTerminal, type JournalEvent, type TerminalEvent } from '../engine/events.ts'
import { allReleases } from '../flow/releases.ts'
import { hasEnded, type Wake } from '../ports.ts'
import { ended, isFinal } from './commit.ts'
import { forgetStarts } from './forget-starts.ts'
import { sendOutgoing } from './outgoing.ts'
import { ask, type Procedure } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'

/**
 * Competes with the run's own runner for the next slot (I1); whoever gets it decides how the run ended. An end that is
 * in the journal already, and not yet in the run itself, is carried through here too: somebody died on the way.
 */
export function* terminate(storage: Storage, runId: string, reason: string): Procedure<{ ended: boolean; wakes: Wake[] }> {
  for (;;) {
    const run = yield* ask(storage.find(runId))
    if (!run || hasEnded(run.status)) return { ended: false, wakes: [] }
    const frames = yield* ask(storage.frames(run, run.baseSeq + 1))
    const last = frames.at(-1)?.events.at(-1)
    if (last && isTerminal(last)) return yield* carryThrough(storage, run, last, frames)
    const event: TerminalEvent = { type: 'run.terminated', reason }
    const frame = yield* appendOutside(storage, run, frames, event)
    if (frame) return { ...(yield* carryThrough(storage, run, event, [...frames, frame])), ended: true }
  }
}

function* carryThrough(storage: Storage, run: StoredRun, event: TerminalEvent, frames: Frame[]): Procedure<{ ended: boolean; wakes: Wake[] }> {
  const { seq } = frames.at(-1)!
  const events = frames.flatMap((frame) => frame.events)
  // Before the run itself, as in every commit: an end that nobody was told of would never be told.
  const { wakes } = yield* sendOutgoing(storage, run, outgoingAtEnd(run, event, seq, events))
  if (isFinal(event)) yield* ask(storage.clearMail(run, 'all'))
  // Whoever holds the run has lost it.
  const updated = yield* ask(storage.update(run, { when: { open: true }, set: ended(event, storage.now()), bump: ['epoch'], frame: seq }))
  if (updated.ok) yield* forgetStarts(storage, run, 'payloads')
  // Behind the run itself: nobody would look at one that says that it is queued, and is in no queue any more. What is left here, the check of its limiter finds.
  const released = yield* sendOutgoing(storage, run, allReleases(run, events))
  return { ended: updated.ok, wakes: [...wakes, ...released.wakes] }
}

/** Takes the next slot of the journal for something that does not come from a runner; undefined if it was taken. */
export function* appendOutside(storage: Storage, run: StoredRun, frames: readonly Frame[], event: JournalEvent): Procedure<Frame | undefined> {
  const last = frames.at(-1)
  const at = Math.max(storage.now(), last ? last.at + (last.events.at(-1)?.dt ?? 0) : 0)
  const frame: Frame = { seq: (last?.seq ?? run.baseSeq) + 1, at, epoch: run.epoch + 1, events: [event] }
  return (yield* ask(storage.append(run, frame))) ? frame : undefined
}
