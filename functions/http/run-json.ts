import { EVENT_PAYLOADS } from '../../sdk/codec/payload-fields.ts'
import type { StepView } from '../../sdk/definitions/step-states.ts'
import type {
  HistoryEventJson,
  OpenCallbackJson,
  RunJson,
  RunSummaryJson,
  StepJson,
  WhyJson,
} from '../../sdk/http-client/wire.ts'
import type { HistoryEvent, Incident, OpenCallback, RunView, Why } from '../../sdk/index.ts'
import type { RunSummary } from '../../sdk/ports/run-lists.ts'

type ErrorJson = NonNullable<RunJson['error']>

/** Written field by field: what is not named here does not leave the house. */
export function runToJson(run: RunView, exposeStacks: boolean): RunJson {
  return {
    ...summaryToJson(run),
    input: run.input,
    output: run.output,
    error: run.error && errorToJson(run.error, exposeStacks),
    keptSignals: run.keptSignals,
    trace: run.trace,
    progress: run.progress,
    heartbeat: run.heartbeat && { ...run.heartbeat, at: iso(run.heartbeat.at) },
    queue: run.queue && { ...run.queue, expectedAt: maybeIso(run.queue.expectedAt) },
  }
}

export function summaryToJson(run: RunSummary): RunSummaryJson {
  return {
    runId: run.runId,
    workflow: run.workflow,
    version: run.version,
    status: run.status,
    error: run.error && { name: run.error.name, message: run.error.message },
    createdAt: iso(run.createdAt),
    startedAt: maybeIso(run.startedAt),
    endedAt: maybeIso(run.endedAt),
    stuckAt: maybeIso(run.stuckAt),
    // While a run is held by a runner this is the end of the lease, which means nothing to a reader.
    wakeAt: run.status === 'running' ? undefined : maybeIso(run.wakeAt),
    waitingFor: run.waitingFor?.map(({ until, since, ...waiting }) => ({
      ...waiting,
      until: maybeIso(until),
      since: maybeIso(since),
    })),
    tags: run.tags,
    parent: run.parent,
    generation: run.generation,
    attempt: run.attempt,
  }
}

export function eventToJson(event: HistoryEvent, exposeStacks: boolean): HistoryEventJson {
  const { type, at, ...rest } = event
  const json: HistoryEventJson = { type, at: iso(at), ...(rest as Omit<HistoryEventJson, 'type' | 'at'>) }
  if ('until' in event) json.until = maybeIso(event.until)
  if ('error' in event) json.error = errorToJson(event.error, exposeStacks)
  return json
}

/** Enough to draw what happened: everything but what users pass around. Why an error happened stays; where in the code, and what it carried, does not. */
export function eventWithoutPayloads(event: HistoryEventJson): HistoryEventJson {
  const payloads = event.type === 'run.started' ? ['input', 'parsed'] : EVENT_PAYLOADS[event.type]
  const omitted = payloads.filter(
    (field) => field !== 'error' && field in event && event[field as keyof HistoryEventJson] !== undefined,
  )
  const { error, ...rest } = event
  const kept = Object.fromEntries(Object.entries(rest).filter(([field]) => !omitted.includes(field))) as Omit<
    HistoryEventJson,
    'error'
  >
  return { ...kept, ...(error && { error: errorToJson(error, false) }), ...(omitted.length > 0 && { omitted }) }
}

export function runWithoutPayloads({
  input,
  output,
  progress,
  heartbeat,
  error,
  ...rest
}: RunJson): RunJson & { omitted: string[] } {
  const { details, ...beat } = heartbeat ?? { at: '', step: '' }
  const payloads = Object.entries({ input, output, progress, 'heartbeat.details': details })
  return {
    ...(rest as RunJson),
    ...(error && { error: errorToJson(error, false) }),
    ...(heartbeat && { heartbeat: beat }),
    omitted: payloads.flatMap(([name, value]) => (value === undefined ? [] : [name])),
  }
}

export function whyToJson({ waits, ...rest }: Why): WhyJson {
  return {
    ...rest,
    waits: waits.map(({ since, until, ...wait }) => ({ ...wait, since: maybeIso(since), until: maybeIso(until) })),
  }
}

export const incidentToJson = ({ firstAt, lastAt, ...rest }: Incident) => ({
  ...rest,
  firstAt: iso(firstAt),
  lastAt: iso(lastAt),
})

export function callbackToJson({ until, ...callback }: OpenCallback): OpenCallbackJson {
  return { ...callback, until: maybeIso(until) }
}

export function stepToJson({ startedAt, endedAt, wakeAt, ...step }: StepView): StepJson {
  return { ...step, startedAt: maybeIso(startedAt), endedAt: maybeIso(endedAt), wakeAt: maybeIso(wakeAt) }
}

export function errorToJson(error: ErrorJson, exposeStacks: boolean): ErrorJson {
  // What an error carried along may be anything, a request with its headers included.
  const { stack, fields, cause, errors, ...rest } = error
  return {
    ...rest,
    ...(exposeStacks && { stack, fields }),
    ...(cause && { cause: errorToJson(cause, exposeStacks) }),
    ...(errors && { errors: errors.map((each) => errorToJson(each, exposeStacks)) }),
  }
}

/** Under load many runs share a millisecond. */
let lastAt = Number.NaN
let lastIso = ''
function iso(at: number): string {
  if (at !== lastAt) {
    lastIso = new Date(at).toISOString()
    lastAt = at
  }
  return lastIso
}

const maybeIso = (at: number | undefined) => (at === undefined ? undefined : iso(at))
