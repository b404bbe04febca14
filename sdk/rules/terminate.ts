import { type Frame, isTerminal, type JournalEvent, type TerminalEvent } from '../base/events.ts'
import { outgoingAtEnd } from '../engine/ending.ts'
import { allReleases } from '../flow/limiter/releases.ts'
import { hasEnded } from '../ports/run.ts'
import type { Wake } from '../ports/world.ts'
import { ended, isFinal } from './commit.ts'
import { forgetStarts } from './forget-starts.ts'
import { sendOutgoing } from './outgoing.ts'
import { ask, type Procedure } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'

/**
 * Competes with the run's own runner for the next slot (I1): the one that gets it decides how the run ended. An end
 * that is in the journal already, and not yet in the run itself, is completed here too: a process died in between.
 */
export function* terminate(
  storage: Storage,
  runId: string,
  reason: string,
): Procedure<{ ended: boolean; wakes: Wake[] }> {
  const wakes: Wake[] = []
  for (let isOurs = false; ; ) {
    const run = yield* ask(storage.find(runId))
    if (!run || hasEnded(run.status)) return { ended: isOurs, wakes }
    const frames = yield* ask(storage.frames(run, run.baseSeq + 1))
    const event = endOf(frames) ?? { type: 'run.terminated', reason }
    if (!endOf(frames)) {
      const frame = yield* appendOutside(storage, run, frames, event)
      if (!frame) continue
      frames.push(frame)
      isOurs = true
    }
    const carried = yield* carryThrough(storage, run, event, frames)
    wakes.push(...carried.wakes)
    if (carried.isDone) return { ended: true, wakes }
  }
}

function endOf(frames: readonly Frame[]): TerminalEvent | undefined {
  const last = frames.at(-1)?.events.at(-1)
  return last && isTerminal(last) ? last : undefined
}

/** Not done: another process has moved the run on. It may have been retried since, so this one looks again. */
function* carryThrough(
  storage: Storage,
  run: StoredRun,
  event: TerminalEvent,
  frames: Frame[],
): Procedure<{ isDone: boolean; wakes: Wake[] }> {
  const { seq } = frames.at(-1)!
  const events = frames.flatMap((frame) => frame.events)
  // Before the run itself, as in every commit: otherwise its parent and children might never hear of the end.
  const { wakes } = yield* sendOutgoing(storage, run, outgoingAtEnd(run, event, seq, events))
  if (isFinal(event)) yield* ask(storage.clearMail(run, 'all'))
  // A runner that holds the run loses it.
  const when = { open: true as const, epoch: run.epoch }
  const updated = yield* ask(
    storage.update(run, { when, set: ended(event, storage.now()), bump: ['epoch'], frame: seq }),
  )
  if (!updated.ok) return { isDone: false, wakes }
  yield* forgetStarts(storage, run, 'payloads')
  // Behind the run itself: a run that says that it is queued must be in a queue. What a crash leaves here, the check
  // of the limiter finds.
  const released = yield* sendOutgoing(storage, run, allReleases(run, events))
  return { isDone: true, wakes: [...wakes, ...released.wakes] }
}

/** Takes the next slot of the journal for something that does not come from a runner; undefined if it was taken. */
export function* appendOutside(
  storage: Storage,
  run: StoredRun,
  frames: readonly Frame[],
  event: JournalEvent,
): Procedure<Frame | undefined> {
  const last = frames.at(-1)
  const at = Math.max(storage.now(), last ? last.at + (last.events.at(-1)?.dt ?? 0) : 0)
  const frame: Frame = { seq: (last?.seq ?? run.baseSeq) + 1, at, epoch: run.epoch + 1, events: [event] }
  return (yield* ask(storage.append(run, frame))) ? frame : undefined
}
