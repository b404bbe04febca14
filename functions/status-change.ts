import type { RunStatus } from '../sdk/ports/run.ts'
import { runIdOf } from '../sdk/worlds/aws/keys.ts'
import type { RunItem } from '../sdk/worlds/aws/run-item.ts'

export const STATUS_CHANGE = 'Overwinter Run Status Change'

/** States that are reported. Runs sleep, wait and run again and again; their journals report that. */
const REPORTED: ReadonlySet<RunStatus> = new Set<RunStatus>([
  'pending',
  'stuck',
  'completed',
  'failed',
  'cancelled',
  'terminated',
])
/** Only an operator brings a run back from these. */
const HALTED: ReadonlySet<RunStatus> = new Set<RunStatus>(['stuck', 'failed'])

export interface StatusChange {
  /** The same for a repeated event. */
  id: string
  runId: string
  workflow: string
  version: number
  status: Uppercase<RunStatus>
  previousStatus?: Uppercase<RunStatus>
  tags: string[]
  /** Its parent run, if the parent waits for it. */
  parentId?: string
  generation: number
  createdAt: string
  endedAt?: string
  /** The error of a failed or stuck run, in short. */
  error?: { name: string; message: string }
}

/**
 * The change between two images of a run: it began, came to a halt, was retried, or ended. A reused id is
 * another run.
 */
export function statusChangeOf(run: RunItem, image: RunItem | undefined): StatusChange | undefined {
  const before = image?.life === run.life ? image : undefined
  if (!REPORTED.has(run.status) || before?.status === run.status) return undefined
  if (run.status === 'pending' && before && !HALTED.has(before.status)) return undefined
  // It had ended before: an erasure is about to remove it.
  if (before?.endedAt !== undefined && run.endedAt === before.endedAt) return undefined
  const runId = runIdOf(run.pk)
  return {
    id: `${runId}/${run.life}/${run.epoch}/${run.status}`,
    runId,
    workflow: run.workflow,
    version: run.version,
    status: upper(run.status),
    ...(before && { previousStatus: upper(before.status) }),
    tags: run.tags ?? [],
    ...(run.parent && { parentId: run.parent.runId }),
    generation: run.generation ?? 0,
    createdAt: new Date(run.createdAt).toISOString(),
    ...(run.endedAt !== undefined && { endedAt: new Date(run.endedAt).toISOString() }),
    ...(run.why && { error: run.why }),
  }
}

const upper = (status: RunStatus) => status.toUpperCase() as Uppercase<RunStatus>
