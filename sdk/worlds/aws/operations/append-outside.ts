import type { Frame, JournalEvent } from '../../../engine/events.ts'
import { type Aws, newToken } from '../context.ts'
import { appendFrame } from '../frame-item.ts'
import { ttlNow } from '../lifetime.ts'
import type { RunItem } from '../run-item.ts'

/** Takes the next slot of the journal for something that does not come from a runner; undefined if it was taken. */
export async function appendOutside(aws: Aws, run: RunItem, runId: string, frames: Frame[], event: JournalEvent): Promise<Frame | undefined> {
  const now = aws.clock.now()
  const last = frames.at(-1)
  const frame: Frame = { seq: (last?.seq ?? run.baseSeq ?? 0) + 1, at: Math.max(now, last?.at ?? 0), epoch: run.epoch + 1, events: [event] }
  return (await appendFrame(aws, runId, frame, { life: run.life, token: newToken(), ttl: ttlNow(run, now) })) ? frame : undefined
}
