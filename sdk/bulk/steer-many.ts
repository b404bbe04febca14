import { asError, ConflictError, InvalidInputError } from '../engine/errors.ts'
import { isReserved, keyedMessageId } from '../engine/names.ts'
import { hasEnded, type RunFilter, type RunStatus, type RunSummary } from '../ports.ts'
import { type Needs, retry } from '../retrying.ts'
import { inParallel } from '../rules/procedure.ts'
import { type Workflow, workflow } from '../workflow.ts'
import { TROUBLE } from './incidents.ts'

export type BulkAction = 'retry' | 'cancel' | 'terminate'

/** Which runs. `incident`: those in trouble with this fingerprint. */
export type BulkFilter = Pick<RunFilter, 'workflow' | 'tag' | 'idPrefix' | 'from' | 'to'> & { status?: RunStatus; incident?: string }

export interface Bulk {
  action: BulkAction
  filter: BulkFilter
  /** 1 to 100. Default 10. */
  perSecond?: number
  /** How many runs at most, 1 to 10,000. Default 1,000. */
  limit?: number
  reason?: string
}

export interface BulkProgress {
  matched: number
  done: number
  /** Had moved on, or cannot be retried. */
  skipped: number
  failed: number
  /** Why some of them were skipped or failed. */
  notes: string[]
}

interface State extends Bulk {
  progress?: BulkProgress
  /** Which of the states that it goes through, and where in it. */
  at?: number
  cursor?: string
}

const STEER_MANY = 'overwinter bulk'
export const BULK_BOUNDS = { perSecond: { least: 1, most: 100, unless: 10 }, limit: { least: 1, most: 10_000, unless: 1_000 } } as const

const PAGE = 500
const BATCHES_PER_GENERATION = 100
const NOTES = 10

/** A run that does something to many runs, a second's worth at a time. Killed, it goes on; and no run is touched twice. */
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
    return progress
  })
}

/** Runs that failed have ended: only a retry can do something about them. */
function statesOf({ action, filter: { status, incident } }: Bulk): (RunStatus | undefined)[] {
  if (status !== undefined || incident === undefined) return [status]
  return action === 'retry' ? [...TROUBLE] : ['stuck']
}

export interface WouldSteer {
  matches: number
  /** Whether there are no more than its limit. */
  isComplete: boolean
  /** Some of them. */
  runs: string[]
}

/** How many there would be, and some of them. Nothing is done. */
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
  return { matches: Math.min(limit, runs.length), isComplete, runs: runs.slice(0, NOTES) }
}

interface Place {
  at: number
  cursor: string | undefined
  most: number
  self?: string
}

async function findPage({ store }: Needs, bulk: Bulk, { at, cursor, most, self }: Place): Promise<{ runs: string[]; cursor?: string }> {
  const { incident, status: _, ...filter } = bulk.filter
  const status = statesOf(bulk)[at]
  const page = await store.list({
    ...filter,
    // A filter by incident passes few of those it looks at.
    limit: incident === undefined ? Math.min(PAGE, most) : PAGE,
    ...(status !== undefined ? { status } : { isOpen: true }),
    ...(cursor !== undefined && { cursor }),
  })
  const runs = page.runs.filter((run) => run.runId !== self && isMeant(run, bulk.filter)).map(({ runId }) => runId)
  return { runs: runs.slice(0, most), ...(page.cursor !== undefined && { cursor: page.cursor }) }
}

/** What keeps the others going is touched only by who asks for it by name. */
function isMeant({ runId, workflow: name, error }: RunSummary, { workflow: asked, idPrefix, incident }: BulkFilter): boolean {
  if (incident !== undefined && error?.incident?.id !== incident) return false
  return asked !== undefined || idPrefix !== undefined || !(isReserved(runId) || name.startsWith('overwinter '))
}

type Outcome = Pick<BulkProgress, 'done' | 'skipped' | 'failed' | 'notes'>

async function steerAll(world: Needs, bulk: Bulk, runIds: readonly string[], self: string): Promise<Outcome> {
  const outcome: Outcome = { done: 0, skipped: 0, failed: 0, notes: [] }
  await inParallel(runIds, async (runId) => {
    try {
      if (await STEER[bulk.action](world, runId, `bulk ${self}`, bulk.reason)) outcome.done++
      else outcome.skipped++
    } catch (error) {
      outcome[error instanceof ConflictError ? 'skipped' : 'failed']++
      outcome.notes.push(`run '${runId}': ${asError(error).message}`)
    }
  })
  return outcome
}

/** Each under a key of the bulk: done again, because whoever did it died, it does nothing. False: the run had ended. */
const STEER: Record<BulkAction, (world: Needs, runId: string, key: string, reason?: string) => Promise<boolean>> = {
  async retry(world, runId, idempotencyKey) {
    await retry(world, runId, { idempotencyKey })
    return true
  },
  async cancel({ store, wakeups }, runId, key, reason) {
    const { outcome, wakes } = await store.deliver(runId, { id: keyedMessageId('cancel', key), kind: 'cancel', ...(reason !== undefined && { reason }) })
    await wakeups.send(wakes)
    return outcome === 'accepted' || outcome === 'duplicate'
  },
  async terminate({ store, wakeups }, runId, _key, reason = 'terminated by request, with others') {
    const { ended, wakes } = await store.terminate(runId, reason)
    await wakeups.send(wakes)
    return ended
  },
}

function sumOf(before: BulkProgress, { done, skipped, failed, notes }: Outcome, matched: number): BulkProgress {
  return {
    matched: before.matched + matched,
    done: before.done + done,
    skipped: before.skipped + skipped,
    failed: before.failed + failed,
    notes: [...before.notes, ...notes].slice(0, NOTES),
  }
}

/** Refused before anything is started. */
export function checkBulk({ action, filter, perSecond, limit }: Bulk): void {
  for (const [name, value] of Object.entries({ perSecond, limit })) {
    const { least, most } = BULK_BOUNDS[name as keyof typeof BULK_BOUNDS]
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= most))
      throw new InvalidInputError(`${name} must be a whole number from ${least} to ${most}, got ${JSON.stringify(value)}`)
  }
  // What a variable that is not set makes of a filter would mean every run.
  for (const [name, value] of Object.entries(filter))
    if (value === '') throw new InvalidInputError(`${name} is empty; say which runs are meant, or leave it out`)
  if (Object.values(filter).every((value) => value === undefined))
    throw new InvalidInputError('say which runs are meant: give at least one of workflow, status, tag, idPrefix, from and to')
  if (action === 'retry' && filter.incident === undefined && filter.status !== 'failed' && filter.status !== 'stuck')
    throw new InvalidInputError("only failed and stuck runs can be retried: give the status 'failed' or 'stuck'")
  if (action !== 'retry' && filter.status !== undefined && hasEnded(filter.status))
    throw new InvalidInputError(
      `runs that are ${filter.status} have ended, and there is nothing to ${action}; give another status, or none for all that are open`,
    )
}
