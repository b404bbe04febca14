import { recordError } from '../base/error-records.ts'
import { InvalidInputError } from '../base/errors.ts'
import { type ErrorRecord, isTerminal, type JournalEvent, type OpKind } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import { FORMAT } from '../base/names.ts'
import { topFrame } from '../base/stacks.ts'
import { encode } from '../base/values.ts'
import type { Journal } from '../engine/journal.ts'
import type { Operation } from '../engine/operation.ts'
import { Replay } from '../engine/replay.ts'
import { replaySilently } from '../engine/silent-replay.ts'
import type { RunRecord } from '../ports/run.ts'
import type { AnyWorkflow } from '../workflow.ts'
import type { RunView } from './client.ts'
import { type HistoryEvent, inputAsRecorded } from './history.ts'

/** Where the code of a run stood at some place of its history. */
export interface Replayed {
  upTo: string
  /** How many events it has seen by then. */
  events: number
  /** What it had called and was not told of. */
  open: { id: string; kind: OpKind /** `file:line:column` of the call. */; at?: string }[]
  /** How the code had ended by then. */
  ended?: { output?: Json; error?: ErrorRecord }
  /** Why today's code does not get there. */
  changed?: string
}

/**
 * Takes today's code of a workflow through the history of a run, up to an event and no further. Nothing is
 * done and nothing is written.
 */
export async function replayUpTo(
  workflow: AnyWorkflow,
  run: RunView,
  history: readonly HistoryEvent[],
  upTo: string,
): Promise<Replayed> {
  const last = history.findIndex(({ n }) => n === upTo)
  if (last === -1) throw new InvalidInputError(`run '${run.runId}' has no event '${upTo}' in its history`)
  const seen = history.slice(0, last + 1)
  const events = seen.filter(
    (event): event is JournalEvent & HistoryEvent =>
      !NOT_REPLAYED.test(event.type) && !isTerminal(event as JournalEvent),
  )
  // As few in a frame as possible: the code is told of one after the other.
  const frames = events.map((event, i) => ({ seq: i + 1, at: event.at, epoch: 1, events: [event as JournalEvent] }))
  const sites = new Map<Operation, string>()
  const replay = await replaySilently(
    workflow,
    recordOf(run, seen),
    frames,
    (record, journal) => new Watched(record, journal, sites),
  )
  const open = [...replay.operations.values()].filter((operation) => !operation.settled)
  return {
    upTo,
    events: seen.length,
    open: open.map((operation) => ({
      id: operation.id,
      kind: operation.request.kind,
      ...(sites.has(operation) && { at: sites.get(operation)! }),
    })),
    ...(replay.end && { ended: endOf(replay) }),
    ...(replay.violation && { changed: replay.violation.message }),
  }
}

const NOT_REPLAYED = /^run\.(?:started|continued|retrying)$/

/** Notes where in the code each operation was called. */
class Watched extends Replay {
  private readonly sites: Map<Operation, string>

  constructor(run: RunRecord, journal: Journal, sites: Map<Operation, string>) {
    super(run, journal)
    this.sites = sites
  }

  override call(...called: Parameters<Replay['call']>): Operation {
    const operation = super.call(...called)
    const site = topFrame(new Error().stack)
    if (site !== undefined) this.sites.set(operation, site)
    return operation
  }
}

function endOf({ end }: Replay): NonNullable<Replayed['ended']> {
  if (end?.kind === 'threw') return { error: recordError(end.error) }
  if (end?.kind === 'returned') return { output: encode(end.value, 'the output') ?? null }
  return {}
}

function recordOf(run: RunView, history: readonly HistoryEvent[]): RunRecord {
  const { runId, input, ...rest } = run
  const [first] = history
  const accepted =
    first?.type === 'run.started' ? inputAsRecorded(first) : { input: input as Json, reparse: true as const }
  return {
    ...rest,
    id: runId,
    ...accepted,
    status: 'running',
    format: FORMAT,
    baseSeq: 0,
    epoch: 1,
    stimulus: 0,
    secret: 'replayed',
    startedAt: first!.at,
  }
}
