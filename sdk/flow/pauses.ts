import { ConflictError, InvalidInputError } from '../base/errors.ts'
import type { Json } from '../base/json.ts'
import { checkName, checkRunId } from '../base/names.ts'
import type { DocumentStore } from '../ports/documents.ts'
import { hasEnded, type RunRecord } from '../ports/run.ts'
import type { Count } from '../ports/run-lists.ts'
import type { World } from '../ports/world.ts'
import type { Admission, LimiterToPass } from './admission.ts'
import { MOST_PAUSES, MOST_PER_SECOND, USUAL_PER_SECOND } from './limiter/bounds.ts'
import { type LimitRecord, PAUSES, serialOf } from './limiter/limit-record.ts'
import { isPause, nameOf, type PauseScope, scopeOf } from './limiter/pause-scope.ts'
import { inWords } from './limiter/readable.ts'
import { limitersInUse } from './operating/changing-limits.ts'
import { countOf, readQueueOf } from './operating/reading-queues.ts'

export type { PauseScope } from './limiter/pause-scope.ts'

/** A pause as people see it. */
export interface PauseView {
  scope: PauseScope
  since: number
  /** So many runs a second are released. Without it, none is. */
  perSecond?: number
  /** How many runs are left in its queue. Only the list of pauses has it. */
  waiting?: Count
  /** Its record cannot be read, so it releases no run: what is wrong with it. */
  unreadable?: string
}

/** How long a runner goes by what it has seen: a read unit each time, on AWS. */
const SEEN_FOR_MS = 10_000
/** The pauses in force, as one process knows them. */
export class Pauses {
  private readonly world: Pick<World, 'documents' | 'clock'>
  private seen: { at: number; records: Map<string, LimitRecord> } | undefined
  private reading: Promise<void> | undefined

  constructor(world: Pick<World, 'documents' | 'clock'>) {
    this.world = world
  }

  /** Reads the pauses, unless this process has read them within the last seconds. */
  refresh(): Promise<void> | undefined {
    const now = this.world.clock.now()
    if (this.seen && now - this.seen.at < SEEN_FOR_MS && now >= this.seen.at) return undefined
    this.reading ??= this.read().finally(() => {
      this.reading = undefined
    })
    return this.reading
  }

  /** The limiter that this run has to pass now, if any. */
  over({ id, workflow, admission }: Pick<RunRecord, 'id' | 'workflow' | 'admission'>): LimiterToPass | undefined {
    const { records } = this.seen ?? {}
    if (!records || records.size === 0) return undefined
    for (const scope of [{ all: true }, { workflow }, { run: id }] as const) {
      const limit = nameOf(scope)
      const record = records.get(limit)
      const limiter = record && { limit, key: serialOf(record), round: record.round ?? 0 }
      if (
        limiter &&
        !admission?.gates.some(
          (passed) => passed.limit === limiter.limit && passed.key === limiter.key && passed.round === limiter.round,
        )
      )
        return limiter
    }
    return undefined
  }

  /** Whether runs may be queued behind one that was let through this pause. */
  mayHaveQueue({ limit, key }: LimiterToPass): boolean {
    return !this.seen || this.seen.records.has(limit) || this.seen.at <= Number.parseInt(key!, 10) + SEEN_FOR_MS
  }

  async read(): Promise<void> {
    const at = this.world.clock.now()
    const found = await this.world.documents.list(PAUSES)
    const records = new Map(found.map(({ key, value }) => [key, value as unknown as LimitRecord]))
    this.seen = { at, records }
  }
}

const known = new WeakMap<DocumentStore, Pauses>()

/** The pauses that this process knows: a pause that is set in it counts at once. */
export function pausesOf(world: Pick<World, 'documents' | 'clock'>): Pauses {
  const there = known.get(world.documents)
  if (there) return there
  const pauses = new Pauses(world)
  known.set(world.documents, pauses)
  return pauses
}

/**
 * Adds a limiter to those that a run has to pass. Earlier pauses are over for it. A run that has not begun comes to
 * its rate behind the pause: what a rate grants starts at once.
 */
export function withLimiterToPass(
  { admission, createdAt }: RunRecord,
  limiter: LimiterToPass,
  hasBegun: boolean,
): { admission: Admission; passed: number } {
  const gates = (admission?.gates ?? []).filter(({ limit }) => limit !== limiter.limit)
  const isRate = ({ limit, holds }: LimiterToPass) => !hasBegun && !holds && !isPause(limit)
  const before = gates.filter((each) => !isRate(each))
  return {
    admission: { order: createdAt, ...admission, gates: [...before, limiter, ...gates.filter(isRate)] },
    passed: before.length,
  }
}

export async function pause(world: World, scope: PauseScope): Promise<PauseView> {
  const name = nameOf(scope)
  for (;;) {
    const found = await world.documents.get(PAUSES, name)
    // One that cannot be read is replaced: its runs come to the new pause.
    const there = found?.unreadable ? undefined : (found?.value as unknown as LimitRecord | undefined)
    if (!found && 'run' in scope && (await pausedRuns(world)) >= MOST_PAUSES) {
      // Listing them removes those of runs that have ended.
      await listPauses(world)
      if ((await pausedRuns(world)) < MOST_PAUSES) continue
      throw new ConflictError(
        `${MOST_PAUSES} runs are paused already; pause the workflow, or everything, instead of run by run. ` +
          '`overwinter pauses` lists them',
      )
    }
    // Paused again while it resumes: runs in its queue stay there.
    const since = there?.since ?? world.clock.now()
    // Two pauses of one name may begin at the same time, where clocks differ.
    const serial = there ? serialOf(there) : `${since}-${world.ids.messageId()}`
    const round = (there?.round ?? 0) + (there && !there.paused ? 1 : 0)
    const record: LimitRecord = { code: {}, paused: true, since, serial, ends: true, ...(round > 0 && { round }) }
    if (await world.documents.put(PAUSES, name, record as unknown as Json, { ifVersion: found?.version ?? 0 })) {
      await pausesOf(world).read()
      return viewOf(name, record)
    }
  }
}

async function pausedRuns({ documents }: World): Promise<number> {
  return (await documents.list(PAUSES)).filter(({ key }) => 'run' in scopeOf(key)).length
}

/** Releases the runs in its queue, so many a second, and runs that come later; undefined where nothing is paused. */
export async function resume(
  world: World,
  scope: PauseScope,
  { perSecond = USUAL_PER_SECOND }: { perSecond?: number } = {},
): Promise<PauseView | undefined> {
  if (!Number.isInteger(perSecond) || perSecond < 1 || perSecond > MOST_PER_SECOND)
    throw new InvalidInputError(
      `the rate of a resume must be a whole number from 1 to ${MOST_PER_SECOND.toLocaleString('en')} a ` +
        `second, got ${String(perSecond)}`,
    )
  const name = nameOf(scope)
  for (;;) {
    const found = await world.documents.get(PAUSES, name)
    if (!found) return undefined
    const { since, round, serial } = found.value as unknown as LimitRecord
    const record: LimitRecord = {
      code: { rate: perSecond, perMs: 1_000 },
      ends: true,
      ...(since !== undefined && { since }),
      ...(serial !== undefined && { serial }),
      ...(round !== undefined && { round }),
    }
    if (!(await world.documents.put(PAUSES, name, record as unknown as Json, { ifVersion: found.version }))) continue
    // Which pause it was before is not known: all runs that wait for one of this name go on.
    const others = found.unreadable ? await limitersInUse(world, name) : []
    await world.wakeups.send(await world.store.dispatch([{ limit: name, key: serialOf(record) }, ...others]))
    await pausesOf(world).read()
    return viewOf(name, record)
  }
}

export async function listPauses(world: World): Promise<PauseView[]> {
  const { documents, store } = world
  const views: PauseView[] = []
  for (const document of await documents.list(PAUSES)) {
    const { key, value, version, unreadable } = document
    const record = value as unknown as LimitRecord
    const view = {
      ...viewOf(key, record),
      ...(unreadable && { unreadable: inWords(PAUSES, document), since: world.clock.now() }),
    }
    const state = 'run' in view.scope ? await store.state(view.scope.run) : undefined
    // The pause of a run that has ended is over. The next reader deletes it.
    if ('run' in view.scope && (!state || hasEnded(state.status))) await documents.delete(PAUSES, key, version)
    else views.push({ ...view, waiting: countOf(await readQueueOf(world, { limit: key, key: serialOf(record) })) })
  }
  return views
}

function viewOf(name: string, { code, since, paused }: LimitRecord): PauseView {
  return {
    scope: scopeOf(name),
    since: since ?? 0,
    ...(!paused && code.rate !== undefined && { perSecond: code.rate }),
  }
}

/** One thing, and nothing that could be taken for more. */
export function checkedScope(scope: PauseScope): PauseScope {
  const { all, workflow, run } = (scope ?? {}) as { all?: unknown; workflow?: string; run?: string }
  const given = [all, workflow, run].filter((part) => part !== undefined)
  if (given.length !== 1 || (all !== undefined && all !== true))
    throw new InvalidInputError('say what is meant: { all: true }, { workflow } or { run }, and one of them')
  if (workflow !== undefined) checkName('a workflow name', workflow)
  if (run !== undefined) checkRunId(run)
  return workflow !== undefined ? { workflow } : run !== undefined ? { run } : { all: true }
}
