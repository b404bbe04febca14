import type { ErrorRecord } from '../base/events.ts'
import { isPause, type PauseScope } from '../flow/limiter/pause-scope.ts'
import type { Limits } from '../flow/operating/limits.ts'
import type { RunRecord } from '../ports/run.ts'
import type { Count } from '../ports/run-lists.ts'
import type { World } from '../ports/world.ts'
import type { RunView } from './client.ts'

/** What of a run is for others to see. */
export function viewOf(run: RunRecord): RunView {
  const promise = promiseTo(run)
  return { ...shownOf(run), ...(promise && { queue: promise }) }
}

function shownOf({
  id,
  secret: _s,
  epoch: _e,
  stimulus: _t,
  baseSeq: _b,
  format: _f,
  parsed: _p,
  reparse: _r,
  admission: _a,
  passed: _n,
  error: stored,
  ...rest
}: RunRecord): RunView {
  const { at: stuckAt, ...error } = stored ?? {}
  const view: RunView = {
    runId: id,
    ...rest,
    ...(stored && { error: error as ErrorRecord }),
    ...(stuckAt !== undefined && { stuckAt }),
  }
  // What it waited for stays on record while it runs or queues, and says nothing about it then.
  if (view.status === 'running' || view.status === 'queued') delete view.waitingFor
  return view
}

/** The first run over a rate has left the queue: it has been told when it starts. */
function promiseTo({
  status,
  startedAt,
  createdAt,
  wakeAt,
  waitingFor,
  admission,
  passed,
}: RunRecord): QueueView | undefined {
  const gate = admission?.gates.at(-1)
  if (!gate || gate.holds || isPause(gate.limit) || passed !== admission!.gates.length) return undefined
  if (
    status !== 'pending' ||
    startedAt !== undefined ||
    waitingFor !== undefined ||
    wakeAt === undefined ||
    wakeAt <= createdAt
  )
    return undefined
  const { limit, key } = gate
  return { limit, ...(key !== undefined && { key }), place: { count: 1 }, expectedAt: wakeAt, paused: false }
}

/** Where a queued run stands, or one that was promised its start by a rate. */
export interface QueueView {
  /** The limit, or the pause, that it is queued for. */
  limit: string
  key?: string
  /** From 1, in the order in which they are let in. */
  place: Count
  /** When it is likely to start, where that can be told. */
  expectedAt?: number
  /** Nothing is let in at present. */
  paused: boolean
  /**
   * What else is paused: everything, its workflow or the run itself. It is held back by that when its turn
   * has come.
   */
  pause?: PauseScope
  /**
   * What is stored of the limiter and cannot be read, document by document. The run waits until an operator
   * puts it right or drops it.
   */
  unreadable?: string[]
}

export async function queueOf(limits: Limits, run: RunRecord): Promise<QueueView | undefined> {
  const gate = run.admission?.gates[run.passed ?? 0]
  if (!gate) return undefined
  const { limit, key } = gate
  // Only steps ask for a rest, of limits that are theirs.
  const { restUntil: _, ...at } = await limits.placeOf(gate, run)
  return { limit, ...(key !== undefined && !isPause(limit) && { key }), ...at }
}

/** A signal that the run does not wait for may be one whose name was misspelt. */
export async function keptSignals({ store }: World, runId: string): Promise<Record<string, number> | undefined> {
  const kept = new Map<string, number>()
  const { messages } = await store.inbox(runId)
  for (const message of messages)
    if (message.kind === 'signal') kept.set(message.name, (kept.get(message.name) ?? 0) + 1)
  return kept.size === 0 ? undefined : Object.fromEntries(kept)
}
