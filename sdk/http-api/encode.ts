import type { ErrorRecord } from '../base/events.ts'
import type { Incident } from '../bulk/incidents.ts'
import type { OpenCallback } from '../client/callbacks.ts'
import type { RunView } from '../client/client.ts'
import type { HistoryEvent } from '../client/history.ts'
import type { ScheduleView } from '../client/schedules.ts'
import { EVENT_PAYLOADS } from '../codec/payload-fields.ts'
import type { DefinitionSummary, SavedDefinition } from '../definitions/catalogue.ts'
import type { StoredVersion } from '../definitions/definition-store.ts'
import type { StepView } from '../definitions/step-states.ts'
import type { LimitView } from '../flow/operating/limits.ts'
import type { PauseView } from '../flow/pauses.ts'
import type { RunSummary } from '../ports/run-lists.ts'
import type { LiveWorker } from '../tasks/directory.ts'
import type { TokenView } from '../tasks/tokens.ts'
import type { Why } from '../views/why.ts'
import type { OpenCallbackJson } from './callbacks.ts'
import type { DefinitionSummaryJson, SavedDefinitionJson, StoredDefinitionJson } from './definitions.ts'
import type { LimitJson, PauseJson } from './limits.ts'
import type { IncidentJson } from './many-runs.ts'
import type { HistoryEventJson, StepJson, WhyJson } from './run-details.ts'
import type { RunJson, RunSummaryJson } from './runs.ts'
import type { ScheduleJson } from './schedules.ts'
import type { NewTokenJson, TokenJson, WorkerJson } from './workers.ts'

/** What goes over the wire, made of what the client gives. The API and `--json` of the command line write by it. */

/** Written field by field: what is not named here stays inside. */
export function runToJson(run: RunView, exposeStacks: boolean): RunJson {
  return {
    ...summaryToJson(run),
    input: run.input,
    output: run.output,
    error: run.error && errorToJson(run.error, exposeStacks),
    keptSignals: run.keptSignals,
    trace: run.trace,
    logs: run.logs,
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
  const json = { type, at: iso(at), ...rest } as HistoryEventJson
  if ('until' in event) json.until = maybeIso(event.until)
  if ('error' in event) json.error = errorToJson(event.error, exposeStacks)
  return json
}

/**
 * Enough to draw what happened: everything but what users pass around. Why an error happened stays; where in
 * the code, and what it carried, does not.
 */
export function eventWithoutPayloads(event: HistoryEventJson): HistoryEventJson {
  const payloads = event.type === 'run.started' ? ['input', 'parsed'] : EVENT_PAYLOADS[event.type]
  const omitted = payloads.filter(
    (field) => field !== 'error' && field in event && event[field as keyof HistoryEventJson] !== undefined,
  )
  const { error, ...rest } = event
  const kept = Object.fromEntries(
    Object.entries(rest).filter(([field]) => !omitted.includes(field)),
  ) as HistoryEventJson
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

export function incidentToJson({ firstAt, lastAt, ...rest }: Incident): IncidentJson {
  return { ...rest, firstAt: iso(firstAt), lastAt: iso(lastAt) }
}

export function callbackToJson({ until, ...callback }: OpenCallback): OpenCallbackJson {
  return { ...callback, until: maybeIso(until) }
}

export function stepToJson({ startedAt, endedAt, wakeAt, ...step }: StepView): StepJson {
  return { ...step, startedAt: maybeIso(startedAt), endedAt: maybeIso(endedAt), wakeAt: maybeIso(wakeAt) }
}

export function errorToJson(error: ErrorRecord, exposeStacks: boolean): ErrorRecord {
  // What an error carried along may be anything, a request with its headers included.
  const { stack, fields, cause, errors, ...rest } = error
  return {
    ...rest,
    ...(exposeStacks && { stack, fields }),
    ...(cause && { cause: errorToJson(cause, exposeStacks) }),
    ...(errors && { errors: errors.map((each) => errorToJson(each, exposeStacks)) }),
  }
}

export function scheduleToJson({ nextDue, lastError, ...schedule }: ScheduleView): ScheduleJson {
  return {
    ...schedule,
    nextDue: maybeIso(nextDue),
    lastError: lastError && { ...lastError, at: maybeIso(lastError.at) },
  }
}

export function limitToJson({ gates, ...limit }: LimitView): LimitJson {
  return { ...limit, gates: gates.map(({ restUntil, ...gate }) => ({ ...gate, restUntil: maybeIso(restUntil) })) }
}

export function pauseToJson({ since, ...pause }: PauseView): PauseJson {
  return { ...pause, since: iso(since) }
}

export function workerToJson({ seenAt, ...worker }: LiveWorker): WorkerJson {
  return { ...worker, last_seen: iso(seenAt) }
}

export function tokenToJson({ id, name, scopes, workflows, types, createdAt, expiresAt, state }: TokenView): TokenJson {
  return {
    id,
    name,
    scopes,
    workflows,
    task_types: types,
    created_at: iso(createdAt),
    expires_at: maybeIso(expiresAt),
    state,
  }
}

export function newTokenToJson({ token, ...made }: TokenView & { token: string }): NewTokenJson {
  return { ...tokenToJson(made), token }
}

export function savedDefinitionToJson({ name, version, createdAt, warnings }: SavedDefinition): SavedDefinitionJson {
  return { name, version, createdAt: iso(createdAt), warnings }
}

export function storedDefinitionToJson(
  name: string,
  { version, createdAt, definition }: StoredVersion,
): StoredDefinitionJson {
  return { name, version, createdAt: iso(createdAt), definition }
}

export function definitionSummaryToJson({
  createdAt,
  updatedAt,
  ...summary
}: DefinitionSummary): DefinitionSummaryJson {
  return { ...summary, createdAt: iso(createdAt), updatedAt: iso(updatedAt) }
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
