import { InvalidInputError } from '../base/errors.ts'
import type { JournalEvent } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import type { RunRecord } from '../ports/run.ts'
import type { World } from '../ports/world.ts'

interface RunStarted {
  type: 'run.started'
  workflow: string
  version: number
  input?: Json
  /** What the workflow's schema made of the input, where that is something else. The code gets this. */
  parsed?: Json
}

/** A line of a run's history: what was observed, when, and where in the history it stands. */
export type HistoryEvent = (RunStarted | JournalEvent) & {
  at: number
  /** Its place: which frame, and which event of that. The same for as long as the run is in this generation. */
  n: string
  /** Which visit of a runner observed it, counted up; not of what was there before any. */
  visit?: number
}

export interface HistoryOptions {
  /** Only what came behind this place. */
  after?: string
}

const START = '0.0'

/** The history of the run's generation. Only the frames from `after` on are read. */
export async function historyOf(
  { store }: World,
  run: RunRecord,
  { after }: HistoryOptions = {},
): Promise<HistoryEvent[]> {
  const [frame, index] = after === undefined ? [0, -1] : placeOf(after)
  const frames = await store.frames(run.id, frame)
  const events = frames.flatMap(({ seq, at, epoch, events }) =>
    events.flatMap(({ dt = 0, ...event }, i): HistoryEvent[] => {
      // The frame that began this generation also ended the one before it.
      const isOurs = seq > run.baseSeq || event.type === 'run.continued' || event.type === 'run.retrying'
      if (!isOurs || seq < frame || (seq === frame && i <= index)) return []
      return [{ ...event, at: at + dt, n: `${seq}.${i}`, ...(epoch > 0 && { visit: epoch }) }]
    }),
  )
  const started = after === undefined ? startOf(run) : undefined
  return started ? [started, ...events] : events
}

/** Not in its journal: the run itself knows. */
function startOf({ startedAt, workflow, version, input, parsed }: RunRecord): HistoryEvent | undefined {
  if (startedAt === undefined) return undefined
  return {
    type: 'run.started',
    at: startedAt,
    workflow,
    version,
    input,
    ...(parsed !== undefined && { parsed }),
    n: START,
  }
}

/**
 * What a replay of a history gives the code, as the runner does: what the schema made of the input then.
 * Histories that were recorded before they said so have only what came, and the schema is asked again.
 */
export function inputAsRecorded({ input, parsed }: RunStarted): Pick<RunRecord, 'input' | 'parsed' | 'reparse'> {
  return parsed === undefined ? { input, reparse: true } : { input, parsed }
}

/** One line of it; undefined where there is none of that place. */
export async function eventAt(world: World, run: RunRecord, n: string): Promise<HistoryEvent | undefined> {
  if (n === START) return startOf(run)
  if (!PLACE.test(n)) return undefined
  const [frame, index] = placeOf(n)
  const behind = await historyOf(world, run, { after: `${frame}.${index - 1}` })
  return behind.find((event) => event.n === n)
}

/** Of an event; -1 stands for the place before the first of a frame. */
const PLACE = /^\d{1,9}\.\d{1,9}$/

function placeOf(n: string): [frame: number, index: number] {
  const [, frame, index] = /^(\d{1,9})\.(-1|\d{1,9})$/.exec(n) ?? []
  if (frame === undefined)
    throw new InvalidInputError(
      `'${n}' is no place in a history; take the 'n' of one of its events, '12.0' for example`,
    )
  return [Number(frame), Number(index)]
}
