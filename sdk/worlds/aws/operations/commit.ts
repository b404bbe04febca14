import type { Commit, CommitResult } from '../../../ports.ts'
import type { Aws } from '../context.ts'
import { appendFrame } from '../frame-item.ts'
import { ttlNow } from '../lifetime.ts'
import { markConsumed } from './consume.ts'
import { moveOn } from './move-on.ts'
import { sendOutgoing } from './outgoing.ts'

/**
 * There is no transaction here but an order. The frame comes first: it is the truth, and from it whoever recovers the
 * run after a crash does the rest again, each part of which may be done twice. The run item comes last: while it still
 * shows a holder, somebody will look after it.
 */
export async function commitRun(aws: Aws, commit: Commit): Promise<CommitResult> {
  const { runId, epoch, frame, next } = commit
  const held = await aws.claims.find(aws, runId, epoch)
  if (!held) return { ok: false }
  const now = aws.clock.now()
  const ttl = ttlNow(held, now)
  if (frame && !(await appendFrame(aws, runId, frame, { life: held.life, token: held.claim!, ttl }))) return { ok: false }

  // The inbox of a run that has ended is read by nobody, unless it failed and is revived.
  const staysReadable = next.kind !== 'end' || next.event.type === 'run.failed'
  const [wakes] = await Promise.all([
    sendOutgoing(aws, runId, commit.outgoing ?? []),
    // Before the run item, because the next generation could not tell from its journal what was consumed.
    staysReadable ? markConsumed(aws, runId, commit.consumed ?? []) : undefined,
  ])
  const moved = await moveOn(aws, held, commit, now)
  if (!moved.ok || moved.suspended) aws.claims.forget(runId, epoch)
  return moved.ok ? { ...moved, wakes: [...wakes, ...moved.wakes] } : moved
}
