import type { DeliverResult, Message } from '../../../ports.ts'
import { putIf, updateIf, type Written } from '../conditional.ts'
import { absent, due, free, hasStatus, leased, ofAnotherLife, open } from '../conditions.ts'
import { type Aws, newToken } from '../context.ts'
import { all, any, change, type Expression, not } from '../expressions.ts'
import { messageKey, partition, runKey } from '../keys.ts'
import { ttlNow } from '../lifetime.ts'
import type { MessageItem } from '../message-item.ts'
import { getRunItem } from '../partition.ts'
import { isLeased, type RunItem } from '../run-item.ts'
import { wakePlan } from '../wake-plan.ts'
import { STIMULUS } from './stimulus.ts'

export async function deliverMessage(aws: Aws, runId: string, message: Message): Promise<DeliverResult> {
  const run = await getRunItem(aws, runId)
  if (!run) return { outcome: 'missing', wakes: [] }
  if (run.endedAt !== undefined) return { outcome: 'ended', wakes: [] }
  const put = await putMessage(aws, run, runId, message)
  if (put === 'consumed before') return { outcome: 'duplicate', wakes: [] }
  // I6: the counter is bumped after the message is there. Also for a duplicate that still waits: whoever sent it
  // first may have died before coming this far.
  const { outcome, wakes } = await stimulate(aws, run, runId, message)
  return { outcome: outcome === 'accepted' && put === 'there before' ? 'duplicate' : outcome, wakes }
}

async function putMessage(aws: Aws, run: RunItem, runId: string, message: Message): Promise<'new' | 'there before' | 'consumed before'> {
  const now = aws.clock.now()
  const item: MessageItem = {
    pk: partition(runId),
    sk: messageKey(message.id),
    life: run.life,
    delivery: newToken(),
    after: run.stimulus,
    at: now,
    body: await aws.payloads.storeInside(runId, message),
    ttl: ttlNow(run, now),
  }
  const written = await putIf(aws, item, any(absent, ofAnotherLife(run.life)))
  if (written.ok || written.old?.delivery === item.delivery) return 'new'
  return written.old?.body === undefined ? 'consumed before' : 'there before'
}

/** What a message means for the run depends on its state, which may change under our hands: then the next look decides. */
async function stimulate(aws: Aws, seen: RunItem, runId: string, message: Message): Promise<DeliverResult> {
  let run: RunItem | undefined = seen
  while (run && run.endedAt === undefined) {
    const now = aws.clock.now()
    const { condition, wakes, plan } = reaction(aws, run, runId, message, now)
    const marked: Written<RunItem> = await updateIf(aws, runKey(runId), change(plan, STIMULUS), all(open, condition))
    if (marked.ok) return { outcome: 'accepted', wakes }
    run = marked.old
  }
  return { outcome: run ? 'ended' : 'missing', wakes: [] }
}

interface Reaction {
  /** That the state is still the one this reaction is for. */
  condition: Expression
  plan: Record<string, unknown>
  wakes: DeliverResult['wakes']
}

function reaction(aws: Aws, run: RunItem, runId: string, message: Message, now: number): Reaction {
  // A stuck run waits for a fix and a run with a start time for that time; the message waits with them.
  const sleepsOn = message.kind === 'cancel' ? ['stuck'] : ['stuck', 'pending']
  if (isLeased(run, now)) return { condition: leased(now), plan: {}, wakes: [] }
  if (sleepsOn.includes(run.status)) return { condition: hasStatus(...sleepsOn), plan: {}, wakes: [] }
  const wakeable = all(free(now), not(hasStatus(...sleepsOn)))
  if (run.wakeAt !== undefined && run.wakeAt <= now) return { condition: all(wakeable, due(now)), plan: {}, wakes: [{ runId, at: run.wakeAt }] }
  // A schedule that is armed stays on record, so that the next commit takes it back.
  const { armedAt: _, ...plan } = wakePlan(aws, runId, now, now)
  return { condition: wakeable, plan, wakes: [{ runId, at: now }] }
}
