import { END_STATUS } from '../../engine/ending.ts'
import type { ErrorRecord, TerminalEvent } from '../../engine/events.ts'
import type { Json } from '../../engine/json.ts'
import type { RunRecord, RunStatus, Waiting } from '../../ports.ts'
import type { Aws } from './context.ts'
import { readFrame } from './frame-item.ts'
import { type Key, runIdOf } from './keys.ts'
import { type Packed, type Stored, unpack } from './payloads.ts'

/**
 * The run as the table holds it. It is written again and again and each write costs by the kilobyte, so it stays
 * under one: defaults are left out, and payloads of more than a few hundred bytes lie elsewhere.
 */
export interface RunItem extends Key {
  /** Unique to this run, also where an earlier one had the same id; its frames and messages carry it too. */
  life: string
  workflow: string
  version: number
  status: RunStatus
  epoch: number
  stimulus: number
  secret: string
  createdAt: number
  generation?: number
  attempt?: number
  baseSeq?: number
  /** The journal is at least this long: as of the last time somebody gave the run up. */
  lastSeq?: number
  wakeAt?: number
  /** It waits for messages only: its `wakeAt` is for upkeep and nobody's business. */
  untimed?: boolean
  /** The wake-up for which a schedule was armed. */
  armedAt?: number
  leaseUntil?: number
  /** The lease that the claim before left behind; 0 if it was given up in good order. */
  leftBehind?: number
  /** Claims since the run was last given up in good order. */
  claims?: number
  /** Token of the claim that holds the run. */
  claim?: string
  /** Token of the commit that freed the run. */
  commit?: string
  waitingFor?: Packed
  input?: Stored
  output?: Stored
  error?: Stored
  progress?: Stored
  heartbeat?: Stored
  /** The first frame of a run made by `rerun`. */
  seed?: Stored
  parent?: { runId: string; op: string }
  tags?: string[]
  startedAt?: number
  endedAt?: number
  retentionMs?: number
  /** Everything the run has in the table stays at least until then. */
  keepUntil?: number
  ttl?: number
}

export async function toRecord(aws: Aws, item: RunItem): Promise<RunRecord> {
  const id = runIdOf(item.pk)
  const [input, output, error, progress, heartbeat] = await Promise.all([
    load(aws, id, item.input),
    load(aws, id, item.output),
    load(aws, id, item.error),
    load(aws, id, item.progress),
    load(aws, id, item.heartbeat),
  ])
  const wakeAt = item.status === 'stuck' ? undefined : (item.leaseUntil ?? (item.untimed ? undefined : item.wakeAt))
  const { workflow, version, status, epoch, stimulus, secret, createdAt } = item
  return {
    id,
    workflow,
    version,
    status,
    input,
    generation: item.generation ?? 0,
    attempt: item.attempt ?? 1,
    baseSeq: item.baseSeq ?? 0,
    epoch,
    stimulus,
    secret,
    tags: item.tags ?? [],
    createdAt,
    ...(output !== undefined && { output }),
    ...(error !== undefined && { error: error as unknown as ErrorRecord }),
    ...(wakeAt !== undefined && { wakeAt }),
    ...(item.waitingFor !== undefined && { waitingFor: unpack(item.waitingFor) as unknown as Waiting[] }),
    ...(item.parent && { parent: item.parent }),
    ...(progress !== undefined && { progress }),
    ...(heartbeat !== undefined && { heartbeat: heartbeat as unknown as RunRecord['heartbeat'] }),
    ...(item.startedAt !== undefined && { startedAt: item.startedAt }),
    ...(item.endedAt !== undefined && { endedAt: item.endedAt }),
    ...(item.retentionMs !== undefined && { retentionMs: item.retentionMs }),
  }
}

export const isExpired = (item: RunItem, now: number): boolean => item.ttl !== undefined && item.ttl <= Math.floor(now / 1000)

export const isLeased = (item: RunItem, now: number): boolean => item.leaseUntil !== undefined && item.leaseUntil > now

/** What a run's end leaves as its output or its error. */
export function outcomeOf(event: TerminalEvent): { output?: Json; error?: ErrorRecord } {
  switch (event.type) {
    case 'run.completed':
      return { output: event.output }
    case 'run.failed':
      return { error: event.error }
    case 'run.cancelled':
      return { error: { name: 'CancelledError', message: event.reason ?? END_STATUS[event.type] } }
    case 'run.terminated':
      return { error: { name: 'TerminatedError', message: event.reason ?? END_STATUS[event.type] } }
  }
}

async function load(aws: Aws, runId: string, stored: Stored | undefined): Promise<Json | undefined> {
  if (stored === undefined) return undefined
  if (typeof stored === 'string' || stored instanceof Uint8Array || !('frame' in stored)) return aws.payloads.load(runId, stored)
  const frame = await readFrame(aws, runId, stored.frame)
  const { output, error } = outcomeOf(frame.events.at(-1) as TerminalEvent)
  return output ?? (error as unknown as Json)
}
