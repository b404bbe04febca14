import type { Frame } from '../../../engine/events.ts'
import type { Claimed, Lease } from '../../../ports.ts'
import { updateIf } from '../conditional.ts'
import { due, free, leased, open } from '../conditions.ts'
import { type Aws, newToken } from '../context.ts'
import { all, change } from '../expressions.ts'
import { loadRun } from '../journal.ts'
import { runKey } from '../keys.ts'
import { isLeased, type RunItem, toRecord } from '../run-item.ts'
import { markStimulus } from './stimulus.ts'

export async function claimRun(aws: Aws, runId: string, lease: Lease): Promise<Claimed | undefined> {
  const item = await take(aws, runId, lease)
  if (!item) return undefined
  aws.claims.remember(item)
  // I6: the stimulus counter came with the claim, before the messages are read. Whoever delivers puts the message first
  // and bumps the counter then, so a message that this load misses shows as a counter that has moved. In the other
  // order a message could arrive between the two reads and be counted without having been seen.
  const [run, { frames, inbox, begunAt }] = await Promise.all([toRecord(aws, item), isUntouched(item) ? NOTHING : loadRun(aws, item)])
  return { run, frames, inbox, ...(begunAt !== undefined && { begunAt }), recovered: item.leftBehind !== 0, deaths: deathsBefore(item, frames) }
}

async function take(aws: Aws, runId: string, lease: Lease): Promise<RunItem | undefined> {
  const token = newToken()
  for (;;) {
    const now = aws.clock.now()
    const taken = await updateIf<RunItem>(
      aws,
      runKey(runId),
      // The claim leaves the due index alone, to save its writes: the sweeper skips runs with a lease that lives.
      change(
        { status: 'running', leaseUntil: now + lease.ms, claim: token, waitingFor: undefined },
        { text: '#epoch = #epoch + :one', values: { ':one': 1 } },
        // The lease as it was: a holder that gives a run up removes it.
        { text: '#leftBehind = if_not_exists(#leaseUntil, :none)', values: { ':none': 0 } },
        { text: '#claims = if_not_exists(#claims, :noClaims) + :one', values: { ':noClaims': 0 } },
        { text: '#startedAt = if_not_exists(#startedAt, :started)', values: { ':started': now } },
      ),
      all(open, due(now), free(now)),
    )
    if (taken.ok) return taken.item
    if (taken.old?.claim === token) return taken.old
    if (!taken.old || taken.old.endedAt !== undefined || !isLeased(taken.old, now)) return undefined
    // I6: the holder may be about to suspend; the mark makes it look again. No lease to mark any more: ours to take.
    if (await markStimulus(aws, runId, leased(now))) return undefined
  }
}

/** Claims that were neither given up nor left a frame. The one that wrote the last frame got somewhere, and died later. */
function deathsBefore({ claims = 1, epoch }: RunItem, frames: Frame[]): number {
  const last = frames.at(-1)
  return Math.min(claims - 1, last ? Math.max(0, epoch - 1 - last.epoch) : Number.POSITIVE_INFINITY)
}

/** A run that was never claimed before and to which nothing has come has nothing to load. */
function isUntouched(item: RunItem): boolean {
  return item.epoch === 1 && item.stimulus === 0 && item.seed === undefined
}

const NOTHING: Pick<Claimed, 'frames' | 'inbox' | 'begunAt'> = { frames: [], inbox: [] }
