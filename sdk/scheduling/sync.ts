import { ConflictError, InvalidInputError } from '../base/errors.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import { FORMAT, scheduleRunId } from '../base/names.ts'
import { validateOrThrow } from '../base/schema.ts'
import { decode, encode } from '../base/values.ts'
import type { Client } from '../client/client.ts'
import type { Document } from '../ports/documents.ts'
import type { RunRecord } from '../ports/run.ts'
import type { Schedule } from '../schedule.ts'
import { control } from './control.ts'
import { EarlierRuns, NO_LONGER } from './earlier-runs.ts'
import type { Plan } from './plan.ts'
import { firstState, inheritedFrom, type ScheduleRecord, ScheduleRecords } from './records.ts'
import { isAlive, SCHEDULE_WORKFLOW, stateOf } from './state.ts'

type Found = Document<ScheduleRecord> | undefined

/** Longer than a process that is about to start a run can be delayed. */
const ID_USED_UP_MS = 30 * 86_400_000

/**
 * Aligns the schedules in the store with those in the code. It first writes the schedule's record, then makes
 * its run follow. A process may crash after any write, and several processes may run at once: the next sync
 * finds what is missing from record and run alone, and does it under the same ids.
 */
export class ScheduleSync {
  private readonly client: Client
  private readonly records: ScheduleRecords
  private readonly earlierRuns: EarlierRuns

  constructor(client: Client) {
    this.client = client
    this.records = new ScheduleRecords(client.world)
    this.earlierRuns = new EarlierRuns(client.world)
  }

  /** A schedule that cannot be synced does not block the others. */
  async run(schedules: readonly Schedule[]): Promise<void> {
    const wanted = byName(schedules)
    const found = new Map((await this.records.all()).map((document) => [document.key, document]))
    const problems: { name: string; error: Error }[] = []
    const attempt = async (name: string, act: () => Promise<void>) => {
      await act().catch((error: unknown) => problems.push({ name, error: error as Error }))
    }
    for (const schedule of schedules)
      await attempt(schedule.name, () => this.bringInLine(schedule, found.get(schedule.name)))
    for (const [name, document] of found) if (!wanted.has(name)) await attempt(name, () => this.remove(document))
    await attempt('runs of 0.1.0', () => this.earlierRuns.endAllBut(wanted))
    if (problems.length > 0) throw notInLine(problems)
  }

  private async bringInLine({ plan, workflow }: Schedule, found: Found): Promise<void> {
    await validateOrThrow(
      workflow.options.input,
      decode(plan.input as Json | undefined),
      `the input of schedule '${plan.name}'`,
    )
    let document = found
    let record = await this.recordFor(plan, document?.value)
    while (record !== document?.value && !(await this.records.put(record, document?.version ?? 0))) {
      document = await this.records.get(plan.name)
      record = await this.recordFor(plan, document?.value)
    }
    await this.makeRunFollow(record)
  }

  /** What the record should contain; the same object if it does already. */
  private async recordFor(plan: Plan, before: ScheduleRecord | undefined): Promise<ScheduleRecord> {
    const serial = (before?.serial ?? 0) + 1
    const run = before && (await this.client.world.store.get(before.runId))
    if (before?.phase === 'active' && (!run || isAlive(run))) {
      return canonicalJson(before.plan) === canonicalJson(plan) ? before : { ...before, plan, serial }
    }
    if (before?.phase === 'ending') await this.endRun(before)
    const earlier = await this.earlierRuns.find(plan.name)
    if (earlier) return { plan, serial, runId: earlier.id, phase: 'active' }
    const inherited = before?.phase === 'active' && run?.workflow === SCHEDULE_WORKFLOW ? inheritedFrom(run) : undefined
    return { plan, ...(await this.freeId(plan.name, serial)), phase: 'active', ...(inherited && { inherited }) }
  }

  /** Any client can give a run of its own the id that the schedule's should have. */
  private async freeId(name: string, from: number): Promise<{ serial: number; runId: string }> {
    for (let serial = from; ; serial++) {
      const runId = scheduleRunId(name, serial)
      if (!(await this.client.world.store.get(runId))) return { serial, runId }
    }
  }

  private async makeRunFollow(record: ScheduleRecord): Promise<void> {
    const { runId, plan, serial } = record
    const run = await this.startOrFind(record)
    if (!run) return
    if (!isAlive(run))
      throw new ConflictError(`its own run '${runId}' has just ended, or is another workflow's; it will get another`)
    // Probably stuck because a deployment was half complete. If not, it will be parked again.
    if (run.status === 'stuck') await this.client.retry(runId).catch(unlessConflict)
    if (stateOf(run).serial === serial) return
    await this.client.signal(runId, control, { action: 'update', plan, serial }, { idempotencyKey: `plan ${serial}` })
  }

  /** The run, unless this call started it with the current plan. */
  private async startOrFind(record: ScheduleRecord): Promise<RunRecord | undefined> {
    const { store } = this.client.world
    const run = await store.get(record.runId)
    if (run) return run
    try {
      await this.client.start(SCHEDULE_WORKFLOW, firstState(record), { id: record.runId })
      return undefined
    } catch (error) {
      // Another process has just started it, with the plan of before or after.
      unlessConflict(error)
      return store.get(record.runId)
    }
  }

  private async remove(found: Document<ScheduleRecord>): Promise<void> {
    const name = found.key
    let document: Found = found
    while (document && document.value.phase === 'active')
      document =
        (await this.records.put({ ...document.value, phase: 'ending' }, document.version)) ??
        (await this.records.get(name))
    if (document?.value.phase !== 'ending') return
    await this.endRun(document.value)
    // If another process has changed it meanwhile, that process is responsible.
    const { inherited: _, ...rest } = document.value
    await this.records.put({ ...rest, phase: 'removed' }, document.version)
  }

  /**
   * Also uses up the id of a run that does not exist: the process that wrote the record may still be about to
   * start it, and that schedule would run without a record.
   */
  private async endRun(record: ScheduleRecord): Promise<void> {
    const { store, wakeups, clock, ids } = this.client.world
    const run = await store.get(record.runId)
    if (run && !isAlive(run)) return
    if (!run) {
      const now = clock.now()
      const input = encode(firstState(record), 'the state of a schedule')
      const time = { createdAt: now, wakeAt: now, retentionMs: ID_USED_UP_MS }
      await store.create({
        id: record.runId,
        workflow: SCHEDULE_WORKFLOW,
        version: 1,
        format: FORMAT,
        input,
        secret: ids.secret(),
        tags: [],
        ...time,
      })
    }
    const { wakes } = await store.terminate(record.runId, NO_LONGER)
    await wakeups.send(wakes)
  }
}

function byName(schedules: readonly Schedule[]): Set<string> {
  const names = new Set<string>()
  for (const { name } of schedules) {
    if (names.has(name)) throw new InvalidInputError(`two schedules are named '${name}'; give one of them another name`)
    names.add(name)
  }
  return names
}

function unlessConflict(error: unknown): void {
  if (!(error instanceof ConflictError)) throw error
}

function notInLine(problems: { name: string; error: Error }[]): AggregateError {
  const errors = problems.map(({ error }) => error)
  const list = problems.map(({ name, error }) => `  '${name}': ${error.message}`).join('\n')
  return new AggregateError(
    errors,
    'not every schedule could be brought in line with the code; the others were. The next sync tries these ' +
      `again:\n${list}`,
  )
}
