import type { EventOf } from '../../../engine/events.ts'
import type { Wake } from '../../../ports.ts'
import { updateIf } from '../conditional.ts'
import { hasStatus } from '../conditions.ts'
import { type Aws, newToken } from '../context.ts'
import { change } from '../expressions.ts'
import { loadFrames } from '../journal.ts'
import { runKey } from '../keys.ts'
import { getRunItem } from '../partition.ts'
import type { RunItem } from '../run-item.ts'
import { wakePlan } from '../wake-plan.ts'
import { appendOutside } from './append-outside.ts'

const NOT_REVIVED = { revived: false, wakes: [] }

export async function reviveRun(aws: Aws, runId: string, event: EventOf<'run.retried'> | undefined): Promise<{ revived: boolean; wakes: Wake[] }> {
  const status = event ? 'failed' : 'stuck'
  const run = await getRunItem(aws, runId)
  if (run?.status !== status) return NOT_REVIVED
  if (event && !(await journalRetry(aws, run, runId, event))) return NOT_REVIVED
  const now = aws.clock.now()
  const token = newToken()
  const update = change({ status: 'pending', error: undefined, endedAt: undefined, ttl: undefined, commit: token, ...wakePlan(aws, runId, now, now) })
  const written = await updateIf<RunItem>(aws, runKey(runId), update, hasStatus(status))
  return written.ok || written.old?.commit === token ? { revived: true, wakes: [{ runId, at: now }] } : NOT_REVIVED
}

/** True also when the word is there already: whoever wrote it died before the run item said so. */
async function journalRetry(aws: Aws, run: RunItem, runId: string, event: EventOf<'run.retried'>): Promise<boolean> {
  const frames = await loadFrames(aws, run, { heading: false })
  if (frames.at(-1)?.events.at(-1)?.type === 'run.retried') return true
  return (await appendOutside(aws, run, runId, frames, event)) !== undefined
}
