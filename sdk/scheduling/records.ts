import type { Json } from '../base/json.ts'
import type { Document } from '../ports/documents.ts'
import type { RunRecord } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import type { Plan } from './plan.ts'
import { type ScheduleState, stateOf } from './state.ts'

/** The record of a schedule beside its run: one document per name. */
export interface ScheduleRecord {
  plan: Plan
  /** Counts the plans of this name, from 1. A plan that returns gets a new serial, so its run accepts it. */
  serial: number
  /**
   * The run that follows the plan. Written before the run is created, so that every process that finds it
   * missing starts the same one.
   */
  runId: string
  /**
   * `ending`: the schedule is not in the code, and its run is to end. `removed`: it has ended. The rest of
   * the record keeps the serial from being reused.
   */
  phase: 'active' | 'ending' | 'removed'
  /** State that the run takes over from an earlier one that ended early. */
  inherited?: Omit<ScheduleState, 'plan' | 'serial'>
}

const RECORDS = 'schedules'
/** Longer than the retention of the schedule's runs, so that its ids are free when it returns. */
const REMEMBERED_MS = 800 * 86_400_000

export class ScheduleRecords {
  private readonly world: Pick<World, 'documents' | 'clock'>

  constructor(world: Pick<World, 'documents' | 'clock'>) {
    this.world = world
  }

  async get(name: string): Promise<Document<ScheduleRecord> | undefined> {
    return asRecord(await this.world.documents.get(RECORDS, name))
  }

  /** By name, those that were removed included. */
  async all(): Promise<Document<ScheduleRecord>[]> {
    return (await this.world.documents.list(RECORDS)).map((document) => asRecord(document)!)
  }

  async active(): Promise<ScheduleRecord[]> {
    return (await this.all()).map(({ value }) => value).filter(({ phase }) => phase === 'active')
  }

  /** Undefined if another process has changed it since it was read. */
  async put(record: ScheduleRecord, ifVersion: number): Promise<Document<ScheduleRecord> | undefined> {
    const { documents, clock } = this.world
    const expiry = record.phase === 'removed' ? { expiresAt: clock.now() + REMEMBERED_MS } : {}
    return asRecord(await documents.put(RECORDS, record.plan.name, record as unknown as Json, { ifVersion, ...expiry }))
  }
}

function asRecord(document: Document | undefined): Document<ScheduleRecord> | undefined {
  return document as Document<unknown> as Document<ScheduleRecord> | undefined
}

/** The input of the schedule's run: the same for every process that starts it from this record. */
export function firstState({ plan, serial, inherited }: ScheduleRecord): ScheduleState {
  return { isPaused: false, started: 0, skipped: 0, ...inherited, plan, serial }
}

/** A pause and the counts outlive the run. A failed run also skips the times missed since, as after an outage. */
export function inheritedFrom(run: RunRecord): NonNullable<ScheduleRecord['inherited']> {
  const { isPaused, started, skipped, lastDue } = stateOf(run)
  const why = run.error === undefined ? '' : `: ${run.error.message}`
  return {
    isPaused,
    started,
    skipped,
    lastError: {
      at: run.endedAt!,
      message: `its own run '${run.id}' ended (${run.status})${why}; another one took over`,
    },
    ...(run.status === 'failed' && lastDue !== undefined && { lastDue }),
  }
}
