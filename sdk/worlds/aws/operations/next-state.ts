import type { ErrorRecord } from '../../../engine/events.ts'
import type { Commit, Next } from '../../../ports.ts'
import type { Aws } from '../context.ts'
import type { Expression } from '../expressions.ts'
import { runIdOf, troubleIndex } from '../keys.ts'
import { keepUntilAfter, ttlNow, UPKEEP_MS } from '../lifetime.ts'
import { pack } from '../payloads.ts'
import type { RunItem } from '../run-item.ts'
import { NO_WAKE, wakePlan } from '../wake-plan.ts'
import { removeConsumed } from './consume.ts'
import { endedState, FREE } from './end.ts'

export interface NextState {
  attributes: Record<string, unknown>
  computed?: Expression[]
  /** When somebody is to be told to look at the run. */
  wakeAt?: number
}

/** Waits are shown to people; the journal has them all. */
const WAITS_SHOWN = 50

/** What the run item is to say after a commit that gives the run up. */
export async function nextState(aws: Aws, held: RunItem, commit: Commit, now: number): Promise<NextState> {
  const { next, frame } = commit
  switch (next.kind) {
    case 'keep':
      return { attributes: {} }
    case 'suspend':
      return suspended(aws, held, next, now)
    case 'release':
      return { attributes: { ...FREE, status: 'pending', ...(await wokenAt(aws, held, now, now)) }, wakeAt: now }
    case 'continue':
      return continued(aws, held, next, frame!.seq, now)
    case 'end':
      return { attributes: await endedState(aws, held, next.event, frame?.seq, now) }
    case 'park':
      return { attributes: await parkedState(aws, held, next.error, now) }
  }
}

async function suspended(aws: Aws, held: RunItem, next: Extract<Next, { kind: 'suspend' }>, now: number): Promise<NextState> {
  const attributes = { ...FREE, status: next.status, waitingFor: pack(next.waitingFor.slice(0, WAITS_SHOWN)) }
  if (next.wakeAt !== undefined) return { attributes: { ...attributes, ...(await wokenAt(aws, held, next.wakeAt, now)) }, wakeAt: next.wakeAt }
  // Only a message is to wake it. Nobody is told of the upkeep; the sweeper finds it when it is time.
  const upkeep = await wokenAt(aws, held, now + UPKEEP_MS, now)
  return { attributes: { ...attributes, ...upkeep, armedAt: undefined, untimed: true } }
}

async function continued(aws: Aws, held: RunItem, next: Extract<Next, { kind: 'continue' }>, seq: number, now: number): Promise<NextState> {
  const runId = runIdOf(held.pk)
  const [input, woken] = await Promise.all([
    aws.payloads.storeBeside(runId, next.input, ttlNow(held, now)),
    wokenAt(aws, held, next.wakeAt, now),
    removeConsumed(aws, runId, now),
  ])
  const generation = { text: '#generation = if_not_exists(#generation, :zero) + :one', values: { ':zero': 0, ':one': 1 } }
  return {
    attributes: { ...FREE, status: 'pending', attempt: next.attempt, baseSeq: seq, input, ...woken },
    computed: [generation],
    wakeAt: next.wakeAt,
  }
}

/** The attributes of a run that waits for people. */
export async function parkedState(aws: Aws, run: RunItem, reason: ErrorRecord, now: number): Promise<Record<string, unknown>> {
  const runId = runIdOf(run.pk)
  const error = await aws.payloads.storeBeside(runId, reason, ttlNow(run, now))
  const kept = await keptFor(aws, run, now + PATIENCE_MS)
  return { ...FREE, ...NO_WAKE, status: 'stuck', error, ...kept, ...troubleIndex(runId, 'stuck', run.createdAt) }
}

/** How long a stuck run is certain to be complete when somebody comes to fix it. */
const PATIENCE_MS = 365 * 86_400_000

async function wokenAt(aws: Aws, held: RunItem, wakeAt: number, now: number): Promise<Record<string, unknown>> {
  return { ...wakePlan(aws, runIdOf(held.pk), wakeAt, now), ...(await keptFor(aws, held, wakeAt)) }
}

async function keptFor(aws: Aws, held: RunItem, wakeAt: number): Promise<{ keepUntil?: number }> {
  const keepUntil = await keepUntilAfter(aws, held, wakeAt)
  return keepUntil === undefined ? {} : { keepUntil }
}
