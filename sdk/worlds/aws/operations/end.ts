import { END_STATUS } from '../../../engine/ending.ts'
import type { TerminalEvent } from '../../../engine/events.ts'
import type { Aws } from '../context.ts'
import { loadFrames } from '../journal.ts'
import { runIdOf, troubleIndex } from '../keys.ts'
import { ttlAfterEnd } from '../lifetime.ts'
import { isSmall, pack, type Stored } from '../payloads.ts'
import { outcomeOf, type RunItem } from '../run-item.ts'
import { NO_WAKE } from '../wake-plan.ts'

/** The attributes of a run that nobody holds. */
export const FREE = { leaseUntil: undefined, leftBehind: undefined, claims: undefined, claim: undefined }

/** The attributes of a run that has ended. `seq` is the slot of the frame that says so, where it is known. */
export async function endedState(aws: Aws, run: RunItem, event: TerminalEvent, seq: number | undefined, now: number): Promise<Record<string, unknown>> {
  const runId = runIdOf(run.pk)
  const { output, error } = outcomeOf(event)
  const stored = (value: unknown) => (value === undefined ? undefined : inlineOrInFrame(aws, run, value, seq))
  return {
    ...FREE,
    ...NO_WAKE,
    ...(event.type === 'run.failed' && troubleIndex(runId, 'failed', run.createdAt)),
    status: END_STATUS[event.type],
    endedAt: now,
    output: await stored(output),
    error: await stored(error),
    waitingFor: undefined,
    heartbeat: undefined,
    ttl: ttlAfterEnd(run, now),
  }
}

/** The frame has it anyway, so a large one is not stored twice. */
async function inlineOrInFrame(aws: Aws, run: RunItem, value: unknown, seq: number | undefined): Promise<Stored> {
  const packed = pack(value)
  if (isSmall(packed)) return packed
  return { frame: seq ?? (await loadFrames(aws, run, { heading: false })).at(-1)!.seq }
}
