import { type Frame, isTerminal, type JournalEvent } from '../../sdk/base/events.ts'
import { replaySilently } from '../../sdk/engine/silent-replay.ts'
import type { AnyWorkflow } from '../../sdk/index.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'

/**
 * I2: replays every prefix of a journal, event by event. What the code calls after a longer prefix begins with what
 * it calls after a shorter one; otherwise a crash at that point would have sent the run another way. Says what is
 * wrong, or gives the number of prefixes.
 */
export async function calledByPrefix(
  workflow: AnyWorkflow,
  run: RunRecord,
  frames: readonly Frame[],
): Promise<number | string> {
  const events = frames.flatMap((frame) =>
    frame.events.map(({ dt = 0, ...event }) => ({ seq: frame.seq, at: frame.at + dt, event: event as JournalEvent })),
  )
  let before: string[] = []
  for (let length = 0; length <= events.length; length++) {
    const last = events[length - 1]?.event
    // What a patch decides depends on what is journaled beside it, and a child that is left alone is started and accepted
    // at once: their frames are whole or not there.
    const { seq } = events[length - 1] ?? { seq: events[0]?.seq }
    if (events.slice(length).some((later) => later.seq === seq && UNDIVIDED.includes(later.event.type))) continue
    if (last && isTerminal(last)) continue
    // Somebody let the run go on after it had failed: what it did after the failure counts no more.
    if (last?.type === 'run.retried') before = []
    const prefix = events
      .slice(0, length)
      .map(({ at, event }, index) => ({ seq: run.baseSeq + index + 1, at, epoch: 1, events: [event] }))
    const replay = await replaySilently(workflow, run, prefix)
    if (replay.violation) return `after ${length} events: ${replay.violation.message}`
    const called = [...replay.operations.values()].map((operation) => `${operation.kind} ${operation.id}`)
    const differs = before.findIndex((call, index) => called[index] !== call)
    if (differs !== -1)
      return `after ${length} events the code calls ${called[differs]} where it called ${before[differs]} before`
    before = called
  }
  return events.length
}

const UNDIVIDED: readonly JournalEvent['type'][] = ['patch', 'child.detached']
