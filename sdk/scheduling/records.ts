import type { Json } from '../base/json.ts'
import type { Document } from '../ports/documents.ts'
import type { RunRecord } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import type { Plan } from './plan.ts'
import { type ScheduleState, stateOf } from './state.ts'

/** What is known of a schedule beside its run: one document per name. */
export interface ScheduleRecord {
  plan: Plan
  /** Counts the plans that this name has had, from 1. One that comes back is a new one: told by its serial, it is heard again. */
  serial: number
  /** The run that works by the plan. Written before the run is there, so that whoever finds it missing starts the same one. */
  runId: string
  /** `ending`: the code no longer has it, and its run is to end. `removed`: it has. What is left keeps the serial from being used again. */
  phase: 'active' | 'ending' | 'removed'
  /** What the run takes over from one that ended before its time. */
  inherited?: Omit<ScheduleState, 'plan' | 'serial'>
}

const RECORDS = 'schedules'
/** Longer than any run of the schedule is kept, so that the ids of its next life are free. */
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

  /** Undefined when somebody else has changed it since it was read. */
  async put(record: ScheduleRecord, ifVersion: number): Promise<Document<ScheduleRecord> | undefined> {
    const { documents, clock } = this.world
    const expiry = record.phase === 'removed' ? { expiresAt: clock.now() + REMEMBERED_MS } : {}
    return asRecord(await documents.put(RECORDS, record.plan.name, record as unknown as Json, { ifVersion, ...expiry }))
  }
}

function asRecord(document: Document | undefined): Document<ScheduleRecord> | undefined {
  return document as Document<unknown> as Document<ScheduleRecord> | undefined
}

/** What the schedule's run begins with: the same for everybody who starts it by this record. */
export function firstState({ plan, serial, inherited }: ScheduleRecord): ScheduleState {
  return { isPaused: false, started: 0, skipped: 0, ...inherited, plan, serial }
}

/** A pause and the counts outlive the run. One that failed also leaves what it missed since, as an outage does. */
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
