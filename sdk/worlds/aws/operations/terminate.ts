import { outgoingAtEnd } from '../../../engine/ending.ts'
import { type Frame, isTerminal, type TerminalEvent } from '../../../engine/events.ts'
import type { Wake } from '../../../ports.ts'
import { updateIf } from '../conditional.ts'
import { open } from '../conditions.ts'
import { type Aws, newToken } from '../context.ts'
import { change } from '../expressions.ts'
import { loadFrames } from '../journal.ts'
import { runKey } from '../keys.ts'
import { getRunItem } from '../partition.ts'
import { type RunItem, toRecord } from '../run-item.ts'
import { obsoleteSchedule } from '../wake-plan.ts'
import { appendOutside } from './append-outside.ts'
import { endedState } from './end.ts'
import { sendOutgoing } from './outgoing.ts'

const NOT_ENDED_BY_US = { ended: false, wakes: [] }

/**
 * Competes with the run's own runner for the next slot (I1); whoever gets it decides how the run ended. An end that is
 * in the journal already, and not yet in the run item, is carried through here too: somebody died on the way.
 */
export async function terminateRun(aws: Aws, runId: string, reason: string): Promise<{ ended: boolean; wakes: Wake[] }> {
  for (;;) {
    const run = await getRunItem(aws, runId)
    if (!run || run.endedAt !== undefined) return NOT_ENDED_BY_US
    const frames = await loadFrames(aws, run, { heading: false })
    const last = frames.at(-1)?.events.at(-1)
    if (last && isTerminal(last)) return carryThrough(aws, run, runId, last, frames)
    const event: TerminalEvent = { type: 'run.terminated', reason }
    const frame = await appendOutside(aws, run, runId, frames, event)
    if (frame) return { ...(await carryThrough(aws, run, runId, event, [...frames, frame])), ended: true }
  }
}

async function carryThrough(aws: Aws, run: RunItem, runId: string, event: TerminalEvent, frames: Frame[]): Promise<{ ended: boolean; wakes: Wake[] }> {
  const now = aws.clock.now()
  const outgoing = outgoingAtEnd(
    await toRecord(aws, run),
    event,
    frames.flatMap((frame) => frame.events),
  )
  // Before the run item, as in every commit: an end that nobody was told of would never be told.
  const wakes = await sendOutgoing(aws, runId, outgoing)
  const token = newToken()
  const update = change({ ...(await endedState(aws, run, event, frames.at(-1)!.seq, now)), commit: token }, NEXT_EPOCH)
  const written = await updateIf<RunItem>(aws, runKey(runId), update, open)
  await aws.disarm(obsoleteSchedule(aws, run, undefined, now))
  return { ended: written.ok || written.old?.commit === token, wakes }
}

/** Whoever holds the run has lost it. */
const NEXT_EPOCH = { text: '#epoch = #epoch + :one', values: { ':one': 1 } }
