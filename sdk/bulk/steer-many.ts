import { asError } from '../base/error-records.ts'
import { ConflictError, FatalError } from '../base/errors.ts'
import { isInternal, isReserved } from '../base/names.ts'
import type { RunStatus } from '../ports/run.ts'
import type { RunFilter, RunSummary } from '../ports/run-lists.ts'
import { inParallel } from '../rules/procedure.ts'
import { groupOf } from '../views/fingerprint.ts'
import { type Workflow, workflow } from '../workflow.ts'
import { type Needs, STEER, WHY_NOT } from './actions.ts'
import { TROUBLE, troubledAt } from './incidents.ts'

export type BulkAction = 'retry' | 'rerun' | 'cancel' | 'terminate'

/** Selects runs that match all of the given conditions. */
export type BulkFilter = Pick<RunFilter, 'workflow' | 'tag' | 'idPrefix' | 'from' | 'to'> & {
  status?: RunStatus
  /** Those in trouble with this fingerprint. */
  incident?: string
  /** Those that ended or got stuck at or after this time. */
  since?: number
}

export interface Bulk {
  action: BulkAction
  filter: BulkFilter
  /** 1 to 100. Default 10. */
  perSecond?: number
  /** How many runs at most, 1 to 10,000. Default 1,000. */
  limit?: number
  reason?: string
  /** Of a rerun: the first step that runs again. Without it each run begins anew. */
  from?: string
  /** Of a rerun from a step: take over results that the run has undone since. */
  inheritUndone?: boolean
}

/** Runs that refuse the action, and why, as the predicate of their number. */
export interface Refused {
  why: string
  count: number
  /** Some of them. */
  runs: string[]
}

export interface BulkProgress {
  matched: number
  done: number
  /** Had moved on, or refused the action. */
  skipped: number
  failed: number
  /** The skipped runs that refused the action. Progress of 0.1.0 lacks it. */
  refused?: Refused[]
  /** Why some of them were skipped or failed. */
  notes: string[]
}

interface State extends Bulk {
  progress?: BulkProgress
  /** Its position: the index of the current state, and the cursor in it. */
  at?: number
  cursor?: string
}

const STEER_MANY = 'overwinter bulk'
const DONE: Record<BulkAction, string> = {
  retry: 'retried',
  rerun: 'rerun',
  cancel: 'cancelled',
  terminate: 'terminated',
}
export const BULK_BOUNDS = {
  perSecond: { least: 1, most: 100, unless: 10 },
  limit: { least: 1, most: 10_000, unless: 1_000 },
} as const

const PAGE = 500
const BATCHES_PER_GENERATION = 100
const NOTES = 10

/**
 * A run that acts on many runs, a second's share at a time. After a crash it goes on, and no run is acted on
 * twice.
 */
export function steerMany(world: Needs): Workflow<Bulk, BulkProgress> {
  return workflow(STEER_MANY, async (ctx, state: State): Promise<BulkProgress> => {
    const { perSecond = BULK_BOUNDS.perSecond.unless, limit = BULK_BOUNDS.limit.unless } = state
    const { runId: self } = ctx.info
    let { progress = { matched: 0, done: 0, skipped: 0, failed: 0, notes: [] }, at = 0, cursor } = state
    const states = statesOf(state)
    for (let batches = 0; at < states.length && progress.matched < limit; ) {
      if (batches >= BATCHES_PER_GENERATION) return ctx.continueAsNew({ ...state, progress, at, cursor })
      const from = { at, cursor }
      const most = limit - progress.matched
      const found = await ctx.step('find', () => findPage(world, state, { ...from, most, self }))
      for (let i = 0; i < found.runs.length; i += perSecond) {
        const batch = found.runs.slice(i, i + perSecond)
        if (batches++ > 0) await ctx.sleep('pace', '1s')
        const outcome = await ctx.step(state.action, () => steerAll(world, state, batch, self))
        progress = sumOf(progress, outcome, batch.length)
        ctx.progress(progress)
      }
      ;[at, cursor] = found.cursor === undefined ? [at + 1, undefined] : [at, found.cursor]
    }
    // A successful result would mean that every run was handled.
    if (progress.matched > 0 && progress.done === 0) throw new FatalError(nothingDone(state.action, progress))
    return progress
  })
}

function nothingDone(action: BulkAction, { matched, refused = [], failed, notes }: BulkProgress): string {
  const reasons = [
    ...refused.map(({ why, count }) => `${count} ${why}`),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...notes.slice(0, 1),
  ]
  return `none of the ${matched} runs was ${DONE[action]}${reasons.length === 0 ? '' : `: ${reasons.join('; ')}`}`
}

/**
 * For an incident: failed runs have ended, so they cannot be stopped; stuck ones have not, so they cannot be
 * rerun.
 */
const OF_INCIDENT: Record<BulkAction, readonly RunStatus[]> = {
  retry: TROUBLE,
  rerun: ['failed'],
  cancel: ['stuck'],
  terminate: ['stuck'],
}

function statesOf({ action, filter: { status, incident } }: Bulk): readonly (RunStatus | undefined)[] {
  return status !== undefined || incident === undefined ? [status] : OF_INCIDENT[action]
}

export interface WouldSteer {
  /** How many runs the filter meets. */
  matches: number
  /** Whether there are no more than its limit. */
  isComplete: boolean
  /** Some of them. */
  runs: string[]
  /** How many of the examined runs would accept the action. */
  can: number
  /** The examined runs that would refuse it, and why. */
  refused: Refused[]
  /** How many runs were not examined. */
  unchecked: number
}

/** Counts the matching runs and names some of them. Nothing is changed. */
export async function wouldSteer(world: Needs, bulk: Bulk): Promise<WouldSteer> {
  const { limit = BULK_BOUNDS.limit.unless } = bulk
  const runs: string[] = []
  let isComplete = true
  for (const at of statesOf(bulk).keys()) {
    let cursor: string | undefined
    do {
      const page = await findPage(world, bulk, { at, cursor, most: limit + 1 - runs.length })
      runs.push(...page.runs)
      cursor = page.cursor
    } while (cursor !== undefined && runs.length <= limit)
    if (runs.length > limit) isComplete = false
  }
  const meant = runs.slice(0, limit)
  const whyNot = WHY_NOT[bulk.action]
  const looked = whyNot ? meant.slice(0, MOST_LOOKED_AT) : meant
  const refused: Refused[] = []
  if (whyNot) {
    await inParallel(looked, async (runId) => {
      // A run that cannot be examined now is checked when the action runs.
      const why = await whyNot(world, runId, bulk).catch((error: unknown) => asError(error).message)
      if (why !== undefined) note(refused, { why, count: 1, runs: [runId] })
    })
  }
  return {
    matches: meant.length,
    isComplete,
    runs: meant.slice(0, NOTES),
    can: looked.length - refused.reduce((sum, { count }) => sum + count, 0),
    refused,
    unchecked: meant.length - looked.length,
  }
}

/** Each check reads a run's history, and a request has time for so many. */
const MOST_LOOKED_AT = 300

/** Merges entries with the same reason. */
function note(refused: Refused[], { why, count, runs }: Refused): void {
  const known = refused.find((each) => each.why === why)
  if (!known) return void refused.push({ why, count, runs: [...runs] })
  known.count += count
  known.runs = [...known.runs, ...runs].slice(0, NOTES)
}

interface Place {
  at: number
  cursor: string | undefined
  most: number
  self?: string
}

async function findPage(
  { store }: Needs,
  bulk: Bulk,
  { at, cursor, most, self }: Place,
): Promise<{ runs: string[]; cursor?: string }> {
  const { incident, since, status: _, ...filter } = bulk.filter
  const status = statesOf(bulk)[at]
  const page = await store.list({
    ...filter,
    // A filter by incident or time matches few of the runs it examines.
    limit: incident === undefined && since === undefined ? Math.min(PAGE, most) : PAGE,
    ...(status !== undefined ? { status } : { isOpen: true }),
    ...(cursor !== undefined && { cursor }),
  })
  const runs = page.runs.filter((run) => run.runId !== self && isMeant(run, bulk.filter)).map(({ runId }) => runId)
  return { runs: runs.slice(0, most), ...(page.cursor !== undefined && { cursor: page.cursor }) }
}

/** Built-in workflows, which serve other runs, are affected only if the filter names them. */
function isMeant(run: RunSummary, { workflow: asked, idPrefix, incident, since }: BulkFilter): boolean {
  const { runId, workflow: name, error, endedAt } = run
  if (
    incident !== undefined &&
    !(error?.incident && [error.incident.id, groupOf(name, error.incident)].includes(incident))
  )
    return false
  const hasStopped = endedAt !== undefined || run.status === 'stuck'
  if (since !== undefined && !(hasStopped && troubledAt(run) >= since)) return false
  return asked !== undefined || idPrefix !== undefined || !(isReserved(runId) || isInternal(name))
}

type Outcome = Pick<BulkProgress, 'done' | 'skipped' | 'failed' | 'refused' | 'notes'>

async function steerAll(world: Needs, bulk: Bulk, runIds: readonly string[], self: string): Promise<Outcome> {
  const refused: Refused[] = []
  const outcome: Outcome = { done: 0, skipped: 0, failed: 0, refused, notes: [] }
  await inParallel(runIds, async (runId) => {
    try {
      const why = await WHY_NOT[bulk.action]?.(world, runId, bulk, self)
      if (why !== undefined) note(refused, { why, count: 1, runs: [runId] })
      if (why === undefined && (await STEER[bulk.action](world, runId, bulk, self))) outcome.done++
      else outcome.skipped++
    } catch (error) {
      outcome[error instanceof ConflictError ? 'skipped' : 'failed']++
      outcome.notes.push(`run '${runId}': ${asError(error).message}`)
    }
  })
  return outcome
}

function sumOf(
  before: BulkProgress,
  { done, skipped, failed, refused: more = [], notes }: Outcome,
  matched: number,
): BulkProgress {
  const refused: Refused[] = []
  for (const each of [...(before.refused ?? []), ...more]) note(refused, each)
  return {
    matched: before.matched + matched,
    done: before.done + done,
    skipped: before.skipped + skipped,
    failed: before.failed + failed,
    ...(refused.length > 0 && { refused }),
    notes: [...before.notes, ...notes].slice(0, NOTES),
  }
}
