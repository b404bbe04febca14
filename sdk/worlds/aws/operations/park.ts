import type { ErrorRecord } from '../../../engine/events.ts'
import { updateIf } from '../conditional.ts'
import { due, free, open } from '../conditions.ts'
import { type Aws, newToken } from '../context.ts'
import { all, change } from '../expressions.ts'
import { runKey } from '../keys.ts'
import { getRunItem } from '../partition.ts'
import { isLeased, type RunItem } from '../run-item.ts'
import { parkedState } from './next-state.ts'

/** On the same terms as a claim: a run that somebody holds, or that is not due, is in no need of this. */
export async function parkRun(aws: Aws, runId: string, error: ErrorRecord): Promise<'parked' | 'leased' | 'moved-on'> {
  const run = await getRunItem(aws, runId)
  const now = aws.clock.now()
  if (run?.wakeAt === undefined || run.wakeAt > now) return 'moved-on'
  if (isLeased(run, now)) return 'leased'
  const token = newToken()
  const state: Record<string, unknown> = { ...(await parkedState(aws, run, error, now)), waitingFor: undefined, commit: token }
  // A dead runner's lease is left as it was: it tells whoever takes the run next that announced effects may be missing.
  if (run.leaseUntil !== undefined) delete state.leaseUntil
  // The next epoch shuts out a runner whose lease ran out and who may come back to life.
  const written = await updateIf<RunItem>(aws, runKey(runId), change(state, NEXT_EPOCH), all(open, due(now), free(now)))
  if (written.ok || written.old?.commit === token) return 'parked'
  return written.old && isLeased(written.old, now) ? 'leased' : 'moved-on'
}

const NEXT_EPOCH = { text: '#epoch = #epoch + :one', values: { ':one': 1 } }
