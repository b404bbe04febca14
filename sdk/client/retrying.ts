import { ConflictError, RunNotFoundError } from '../base/errors.ts'
import type { EventOf, JournalEvent } from '../base/events.ts'
import { digest } from '../base/names.ts'
import { type Refusal, retryPlan } from '../engine/undone.ts'
import { hasEnded, type RunRecord } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import type { RepeatOptions } from './client.ts'

/** Lets runs go on that have failed or are stuck. */
export type Needs = Pick<World, 'store' | 'wakeups' | 'documents' | 'clock'>

export async function retry(world: Needs, runId: string, options: RepeatOptions): Promise<void> {
  const run = await recordOf(world, runId)
  const key = options.idempotencyKey === undefined ? undefined : digest(options.idempotencyKey)
  if (run.status === 'stuck') return key === undefined ? reviveStuck(world, runId) : reviveStuckOnce(world, run, key)
  const events = (await world.store.frames(runId))
    .filter(({ seq }) => seq > run.baseSeq)
    .flatMap((frame) => frame.events)
  const last = events.at(-1)
  // An earlier request died between the journal and the run: what it asked for is carried through.
  if (run.status === 'failed' && last?.type === 'run.retried') return revive(world, runId, last, key)
  if (key !== undefined && events.some((event) => event.type === 'run.retried' && event.key === key)) return
  if (run.status !== 'failed' && key !== undefined && (await world.documents.get(REVIVED, revivalOf(runId, key))))
    return
  if (run.status !== 'failed')
    throw new ConflictError(`run '${runId}' is ${run.status}; only a failed or stuck run can be retried`)
  const plan = retryPlan(runId, events)
  if ('refusal' in plan) throw new ConflictError(plan.refusal)
  // Children first: a parent that waits for one that has not gone on would wait for ever.
  for (const child of plan.children) await retryChild(world, runId, child, options)
  await revive(world, runId, { type: 'run.retried', ops: plan.ops, ...(key !== undefined && { key }) }, key)
}

export async function reviveStuck({ store, wakeups }: Needs, runId: string): Promise<void> {
  const { wakes } = await store.revive(runId)
  await wakeups.send(wakes)
}

/**
 * What was stuck when it was retried under a key, and how often it had been taken up by then: its history
 * does not tell.
 */
const REVIVED = 'revived'
const REVIVED_MS = 30 * 86_400_000
const revivalOf = (runId: string, key: string) => `${runId} ${key}`

/** Under the same key again only if no runner has claimed it since: the earlier request may have died too early. */
async function reviveStuckOnce(world: Needs, { id, epoch }: RunRecord, key: string): Promise<void> {
  const { documents, clock } = world
  const known = await documents.get(REVIVED, revivalOf(id, key))
  if (known && known.value !== epoch) return
  if (!known)
    await documents.put(REVIVED, revivalOf(id, key), epoch, { ifVersion: 0, expiresAt: clock.now() + REVIVED_MS })
  await reviveStuck(world, id)
}

async function revive(
  world: Needs,
  runId: string,
  event: EventOf<'run.retried'>,
  key: string | undefined,
): Promise<void> {
  const { revived, wakes } = await world.store.revive(runId, event)
  // Or by the same request, made twice at once.
  const isDone =
    revived ||
    (key !== undefined &&
      (await journalHas(world, runId, (other) => other.type === 'run.retried' && other.key === key)))
  if (!isDone) throw new ConflictError(`run '${runId}' was changed by another request meanwhile; look again`)
  await world.wakeups.send(wakes)
}

/**
 * Why `retry` would refuse a failed run, its children included; undefined where it can go on. Nothing is
 * written.
 */
export async function whyNotRetried(world: Needs, runId: string): Promise<Refusal | undefined> {
  const run = await recordOf(world, runId)
  if (run.status !== 'failed') return undefined
  const events = (await world.store.frames(runId))
    .filter(({ seq }) => seq > run.baseSeq)
    .flatMap((frame) => frame.events)
  if (events.at(-1)?.type === 'run.retried') return undefined
  const plan = retryPlan(runId, events)
  if ('refusal' in plan) return plan
  for (const id of plan.children) {
    const child = await world.store.get(id)
    const refusal =
      refusalOfChild(runId, id, child) ?? (isOwnFailure(runId, child) ? await whyNotRetried(world, id) : undefined)
    if (refusal) return { ...refusal, why: WITH_A_CHILD }
  }
  return undefined
}

async function retryChild(world: Needs, parentId: string, runId: string, options: RepeatOptions): Promise<void> {
  const child = await world.store.get(runId)
  const refused = refusalOfChild(parentId, runId, child)
  if (refused) throw new ConflictError(refused.refusal)
  if (isOwnFailure(parentId, child)) await retry(world, runId, options)
}

const isOwnFailure = (parentId: string, child: RunRecord | undefined): boolean =>
  child?.parent?.runId === parentId && child.status === 'failed'

/**
 * A child that goes on by itself, or has completed, is no obstacle: its parent will hear of its end, or has
 * only to ask.
 */
function refusalOfChild(parentId: string, runId: string, child: RunRecord | undefined): Refusal | undefined {
  // Another run under the id that the child was to have.
  if (child && child.parent?.runId !== parentId) return undefined
  if (child && (!hasEnded(child.status) || child.status === 'completed' || child.status === 'failed')) return undefined
  const state = child ? `was ${child.status}` : 'is gone: its retention has passed'
  return {
    refusal:
      `run '${parentId}' failed with its child run '${runId}', which ${state} and cannot go on; rerun ` +
      `'${parentId}'`,
    why: WITH_A_CHILD,
  }
}
const WITH_A_CHILD = 'failed with a child run that cannot go on: rerun them'

export async function journalHas(
  { store }: Needs,
  runId: string,
  isIt: (event: JournalEvent) => boolean,
): Promise<boolean> {
  return (await store.frames(runId)).some((frame) => frame.events.some(isIt))
}

export async function recordOf({ store }: Needs, runId: string): Promise<RunRecord> {
  const run = await store.get(runId)
  if (!run) throw notFound(runId)
  return run
}

export function notFound(runId: string): RunNotFoundError {
  return new RunNotFoundError(`no run '${runId}'`)
}
