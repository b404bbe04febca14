import type { Wake } from '../../../ports.ts'
import type { Aws } from '../context.ts'
import { DUE, runIdOf, timeText } from '../keys.ts'
import { isLeased } from '../run-item.ts'
import { getRunItems } from '../run-items.ts'
import { inChunks, mergeShards } from '../shards.ts'

/**
 * The due index holds each run at the time it was to be woken plus a grace, and a claim does not touch it. So a run that
 * is in good hands is found here too, and left out because its lease lives.
 */
export async function overdueRuns(aws: Aws, before: number, limit: number): Promise<Wake[]> {
  const overdue: Wake[] = []
  const range = { index: 'due', prefix: DUE, from: '0', to: `${timeText(before)}$`, newestFirst: false, pageSize: Math.min(1_000, limit) } as const
  for await (const entries of inChunks(mergeShards(aws, range), 100)) {
    const now = aws.clock.now()
    const runIds = entries.map(({ runId }) => runId)
    for (const item of await getRunItems(aws, runIds)) {
      if (item?.wakeAt === undefined || isLeased(item, now)) continue
      overdue.push({ runId: runIdOf(item.pk), at: item.leaseUntil ?? item.wakeAt })
      if (overdue.length === limit) return overdue
    }
  }
  return overdue
}
