import type { StepView } from '../../sdk/definitions/step-states.ts'
import type { HistoryEventJson, OpenCallbackJson, RunJson, RunSummaryJson, StepJson, WhyJson } from '../../sdk/http-client/wire.ts'
import type { HistoryEvent, OpenCallback, RunView, Why } from '../../sdk/index.ts'
import type { RunSummary } from '../../sdk/ports.ts'

type ErrorJson = NonNullable<RunJson['error']>

/** Written field by field: what is not named here does not leave the house. */
export function runToJson(run: RunView, exposeStacks: boolean): RunJson {
  return {
    ...summaryToJson(run),
    input: run.input,
    output: run.output,
    error: run.error && errorToJson(run.error, exposeStacks),
    keptSignals: run.keptSignals,
    progress: run.progress,
    heartbeat: run.heartbeat && { ...run.heartbeat, at: iso(run.heartbeat.at) },
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
    // While a run is held by a runner this is the end of the lease, which means nothing to a reader.
    wakeAt: run.status === 'running' ? undefined : maybeIso(run.wakeAt),
    waitingFor: run.waitingFor?.map(({ until, since, ...waiting }) => ({ ...waiting, until: maybeIso(until), since: maybeIso(since) })),
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

export function whyToJson({ waits, ...rest }: Why): WhyJson {
  return { ...rest, waits: waits.map(({ since, until, ...wait }) => ({ ...wait, since: maybeIso(since), until: maybeIso(until) })) }
}

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
