import type { RunStatus } from '../ports/run.ts'
import type { RunSummary } from '../ports/run-lists.ts'
import type { RunStore } from '../ports/run-store.ts'
import { type Fingerprint, groupOf } from '../views/fingerprint.ts'

/** Failures with one cause, however many runs they affect. */
export interface Incident extends Omit<Fingerprint, 'id'> {
  fingerprint: string
  count: number
  failed: number
  stuck: number
  /** When the first of these runs failed or got stuck, and when the last did. */
  firstAt: number
  lastAt: number
  /** Some of them, newest first. */
  runs: string[]
}

export interface Incidents {
  /** The one with the most runs first. */
  incidents: Incident[]
  /** Whether all runs in trouble were examined; for each state, the newest 1,000 are. */
  isComplete: boolean
}

export const TROUBLE = ['failed', 'stuck'] as const satisfies RunStatus[]
const MOST_LOOKED_AT = 1_000
const NAMED = 5

export interface IncidentFilter {
  workflow?: string
  /** Only of runs that failed or got stuck at or after this time, or this long ago (`'2h'`). */
  since?: Date | string | number
}

/** When a run failed, or got stuck. Stuck runs of 0.1.0 say only when they were created. */
export const troubledAt = ({ endedAt, stuckAt, createdAt }: RunSummary): number => endedAt ?? stuckAt ?? createdAt

export async function incidentsOf(
  store: Pick<RunStore, 'list'>,
  { workflow, since = 0 }: { workflow?: string; since?: number } = {},
): Promise<Incidents> {
  const looked = await Promise.all(TROUBLE.map((status) => newest(store, status, workflow)))
  const incidents = new Map<string, Incident>()
  for (const run of looked.flatMap(({ runs }) => runs)) if (troubledAt(run) >= since) note(incidents, run)
  for (const incident of incidents.values()) incident.runs.splice(NAMED)
  return {
    incidents: [...incidents.values()].sort((a, b) => b.count - a.count || b.lastAt - a.lastAt),
    isComplete: looked.every(({ isAll }) => isAll),
  }
}

async function newest(
  store: Pick<RunStore, 'list'>,
  status: RunStatus,
  workflow: string | undefined,
): Promise<{ runs: RunSummary[]; isAll: boolean }> {
  const runs: RunSummary[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({
      status,
      limit: MOST_LOOKED_AT - runs.length,
      ...(workflow !== undefined && { workflow }),
      ...(cursor !== undefined && { cursor }),
    })
    runs.push(...page.runs)
    cursor = page.cursor
  } while (cursor !== undefined && runs.length < MOST_LOOKED_AT)
  return { runs, isAll: cursor === undefined }
}

function note(incidents: Map<string, Incident>, run: RunSummary): void {
  const { runId, workflow, status, error } = run
  if (!error?.incident) return
  const { id: _, ...rest } = error.incident
  const id = groupOf(workflow, error.incident)
  const at = troubledAt(run)
  const known = incidents.get(id) ?? {
    fingerprint: id,
    workflow,
    ...rest,
    count: 0,
    failed: 0,
    stuck: 0,
    firstAt: at,
    lastAt: at,
    runs: [],
  }
  incidents.set(id, known)
  known.count++
  known[status as (typeof TROUBLE)[number]]++
  known.firstAt = Math.min(known.firstAt, at)
  known.lastAt = Math.max(known.lastAt, at)
  known.runs.push(runId)
}
