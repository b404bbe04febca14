import type { Commit, CommitResult } from '../../../ports.ts'
import { updateIf } from '../conditional.ts'
import { heldBy, nothingNewSince } from '../conditions.ts'
import { type Aws, newToken } from '../context.ts'
import { all, change } from '../expressions.ts'
import { runKey } from '../keys.ts'
import { ttlNow } from '../lifetime.ts'
import type { RunItem } from '../run-item.ts'
import { obsoleteSchedule } from '../wake-plan.ts'
import { nextState } from './next-state.ts'

/** The last part of a commit: what the run item says from now on. */
export async function moveOn(aws: Aws, held: RunItem, commit: Commit, now: number): Promise<CommitResult> {
  const { next } = commit
  if (next.kind === 'keep') return keepOn(aws, held, commit, now)
  const { runId, epoch, frame } = commit
  const [state, progress] = await Promise.all([nextState(aws, held, commit, now), storeProgress(aws, held, commit, now)])
  const token = newToken()
  const written = await updateIf<RunItem>(
    aws,
    runKey(runId),
    change({ ...state.attributes, ...progress, ...(frame && { lastSeq: frame.seq }), commit: token }, ...(state.computed ?? [])),
    next.kind === 'suspend' ? all(heldBy(epoch), nothingNewSince(next.seen)) : heldBy(epoch),
  )
  if (written.ok || written.old?.commit === token) {
    const wakes = state.wakeAt === undefined ? [] : [{ runId, at: state.wakeAt }]
    const obsolete = obsoleteSchedule(aws, held, state.wakeAt, now)
    return { ok: true, suspended: true, wakes, ...(obsolete.length > 0 && { obsolete }) }
  }
  const { old } = written
  if (next.kind !== 'suspend' || old?.epoch !== epoch || old.status !== 'running') return { ok: false }
  return { ok: true, suspended: false, stimulus: old.stimulus, wakes: [] }
}

/** The run item says nothing new, and is not written, unless there is progress to show. */
async function keepOn(aws: Aws, held: RunItem, commit: Commit, now: number): Promise<CommitResult> {
  const progress = await storeProgress(aws, held, commit, now)
  if (!progress) return { ok: true, suspended: false, wakes: [] }
  const written = await updateIf<RunItem>(aws, runKey(commit.runId), change(progress), heldBy(commit.epoch))
  return written.ok ? { ok: true, suspended: false, stimulus: written.item.stimulus, wakes: [] } : { ok: false }
}

async function storeProgress(aws: Aws, held: RunItem, { runId, progress }: Commit, now: number): Promise<Pick<RunItem, 'progress'> | undefined> {
  return progress === undefined ? undefined : { progress: await aws.payloads.storeBeside(runId, progress, ttlNow(held, now)) }
}
