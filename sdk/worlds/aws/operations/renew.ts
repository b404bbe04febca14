import type { Lease, RunRecord } from '../../../ports.ts'
import { updateIf } from '../conditional.ts'
import { heldBy } from '../conditions.ts'
import type { Aws } from '../context.ts'
import { change } from '../expressions.ts'
import { runKey } from '../keys.ts'
import { ttlNow } from '../lifetime.ts'
import type { RunItem } from '../run-item.ts'

export async function renewLease(
  aws: Aws,
  runId: string,
  epoch: number,
  lease: Lease,
  heartbeat: RunRecord['heartbeat'],
): Promise<{ stimulus: number } | undefined> {
  const held = await aws.claims.find(aws, runId, epoch)
  if (!held) return undefined
  const now = aws.clock.now()
  const beat = heartbeat && { heartbeat: await aws.payloads.storeBeside(runId, heartbeat, ttlNow(held, now)) }
  const renewed = await updateIf<RunItem>(aws, runKey(runId), change({ leaseUntil: now + lease.ms, ...beat }), heldBy(epoch))
  return renewed.ok ? { stimulus: renewed.item.stimulus } : undefined
}
