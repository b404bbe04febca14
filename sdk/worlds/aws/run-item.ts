import type { ErrorRecord } from '../../base/events.ts'
import type { Json } from '../../base/json.ts'
import type { Admission } from '../../flow/admission.ts'
import type { ParentLink, RunRecord, RunStatus, Waiting } from '../../ports/run.ts'
import type { ShortError } from '../../ports/run-lists.ts'
import type { StoredRun } from '../../rules/storage.ts'
import { type Key, runIdOf } from './keys.ts'
import { type Packed, type Stored, unpack } from './payloads.ts'

/**
 * The run as the table holds it. It is written again and again and each write costs by the kilobyte, so it stays
 * under one: defaults are left out, and payloads of more than a few hundred bytes lie elsewhere.
 */
export interface RunItem extends Key {
  /** Unique to this run, also where an earlier one had the same id; its frames and messages carry it too. */
  life: string
  /** Absent in runs of format 1. */
  format?: number
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
  /** The journal is at least this long: its length when the run was last released. */
  lastSeq?: number
  wakeAt?: number
  /** It waits for messages only: its `wakeAt` is for upkeep and is not shown. */
  untimed?: boolean
  /** How often the sweeper has sent it to the runners since. */
  told?: number
  /** The wake-up for which a schedule was armed. */
  armedAt?: number
  leaseUntil?: number
  /** Claims since the run was last released cleanly. */
  claims?: number
  spared?: number
  /** Token of the claim that holds the run. */
  claim?: string
  /** Token of the last change that released, ended, parked or revived it. */
  commit?: string
  waitingFor?: Packed
  input?: Stored
  parsed?: Stored
  reparse?: true
  output?: Stored
  error?: Stored
  /** The error in short, for lists; the full error may be stored elsewhere. */
  why?: ShortError & { at?: number }
  progress?: Stored
  heartbeat?: Stored
  /** The first frame of a run made by `rerun`. */
  seed?: Stored
  parent?: ParentLink
  tags?: string[]
  startedAt?: number
  endedAt?: number
  retentionMs?: number
  trace?: string
  /** What admits the run before it starts, and how far admission has come. */
  admission?: Admission | undefined
  passed?: number | undefined
  /** It has an entry in the partition of all. */
  inAll?: true
  /** Some of its payloads are in S3. */
  objects?: true
  /** Everything the run owns in the table stays at least until then. */
  keepUntil?: number
  ttl?: number
}

/** A run as the rules see it, and the item behind it. */
export interface AwsRun extends StoredRun {
  readonly item: RunItem
  /** What was written for the run under this view of it, and is not yet committed. */
  readonly written: Key[]
}

export function toRun(item: RunItem): AwsRun {
  const {
    format = 1,
    workflow,
    version,
    status,
    epoch,
    stimulus,
    createdAt,
    wakeAt,
    leaseUntil,
    endedAt,
    retentionMs,
    parent,
  } = item
  const id = runIdOf(item.pk)
  return {
    id,
    workflow,
    version,
    format,
    status,
    generation: item.generation ?? 0,
    baseSeq: item.baseSeq ?? 0,
    epoch,
    stimulus,
    claims: item.claims ?? 0,
    ...(item.spared !== undefined && { spared: item.spared }),
    createdAt,
    ...(wakeAt !== undefined && { wakeAt }),
    ...(item.untimed && { isUpkeep: true as const }),
    ...(leaseUntil !== undefined && { leaseUntil }),
    ...(endedAt !== undefined && { endedAt }),
    ...(retentionMs !== undefined && { retentionMs }),
    ...(parent && { parent }),
    ...(item.admission && { admission: item.admission, passed: item.passed }),
    ...(item.seed !== undefined && !item.generation && { hasSeed: true }),
    item,
    written: [],
  }
}

/** When a runner is to claim it next, as far as users should see it. */
export function shownWakeAt({ status, leaseUntil, untimed, wakeAt }: RunItem): number | undefined {
  return status === 'stuck' ? undefined : (leaseUntil ?? (untimed ? undefined : wakeAt))
}

/** `load` reads a payload from wherever it is stored. */
export async function toRecord(
  item: RunItem,
  load: (stored: Stored | undefined) => Promise<Json | undefined>,
): Promise<RunRecord> {
  const id = runIdOf(item.pk)
  const [input, parsed, output, error, progress, heartbeat] = await Promise.all([
    load(item.input),
    load(item.parsed),
    load(item.output),
    load(item.error),
    load(item.progress),
    load(item.heartbeat),
  ])
  const wakeAt = shownWakeAt(item)
  const { workflow, version, status, epoch, stimulus, secret, createdAt } = item
  return {
    id,
    workflow,
    version,
    format: item.format ?? 1,
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
    ...(parsed !== undefined && { parsed }),
    ...(item.reparse && { reparse: true as const }),
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
    ...(item.trace !== undefined && { trace: item.trace }),
    ...(item.admission && { admission: item.admission, passed: item.passed ?? 0 }),
  }
}
