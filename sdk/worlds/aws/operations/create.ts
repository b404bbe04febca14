import type { NewRun, RunRecord, Wake } from '../../../ports.ts'
import { putIf } from '../conditional.ts'
import { absent, expired } from '../conditions.ts'
import { type Aws, newToken } from '../context.ts'
import { any } from '../expressions.ts'
import { dueIndex, listIndex, runKey } from '../keys.ts'
import { keepUntilStart, ttlNow } from '../lifetime.ts'
import { type RunItem, toRecord } from '../run-item.ts'
import { armedFor } from '../wake-plan.ts'

export async function createRun(aws: Aws, run: NewRun): Promise<{ created: boolean; run: RunRecord; wakes: Wake[] }> {
  const now = aws.clock.now()
  const keepUntil = keepUntilStart(run)
  const ttl = ttlNow({ ...run, keepUntil }, now)
  const [input, seed] = await Promise.all([aws.payloads.storeBeside(run.id, run.input, ttl), aws.payloads.storeBeside(run.id, run.journal, ttl)])
  const item: RunItem = {
    ...runKey(run.id),
    life: newToken(),
    workflow: run.workflow,
    version: run.version,
    status: 'pending',
    epoch: 0,
    stimulus: 0,
    secret: run.secret,
    createdAt: run.createdAt,
    wakeAt: run.wakeAt,
    armedAt: armedFor(aws, run.wakeAt, now),
    input,
    seed,
    parent: run.parent,
    tags: run.tags.length > 0 ? run.tags : undefined,
    retentionMs: run.retentionMs,
    keepUntil,
    ...dueIndex(run.id, run.wakeAt + aws.thresholds.graceMs),
    ...listIndex(run.id, run.createdAt),
  }
  const written = await putIf(aws, item, any(absent, expired(now)))
  if (written.ok || written.old?.life === item.life) return { created: true, run: newRecord(run), wakes: [{ runId: run.id, at: run.wakeAt }] }
  return { created: false, run: await toRecord(aws, written.old!), wakes: [] }
}

function newRecord(run: NewRun): RunRecord {
  const { journal: _, ...rest } = run
  return { ...rest, status: 'pending', generation: 0, attempt: 1, baseSeq: 0, epoch: 0, stimulus: 0 }
}
