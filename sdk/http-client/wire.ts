import type { Incident } from '../bulk/incidents.ts'
import type { OpenCallback } from '../client/callbacks.ts'
import type { RunView } from '../client/client.ts'
import type { HistoryEvent } from '../client/history.ts'
import type { QueueView } from '../client/run-view.ts'
import type { ScheduleView } from '../client/schedules.ts'
import type { DefinitionSummary } from '../definitions/catalogue.ts'
import type { StepView } from '../definitions/step-states.ts'
import type { LimitView } from '../flow/operating/limits.ts'
import type { PauseView } from '../flow/pauses.ts'
import type { OpenCallbackJson } from '../http-api/callbacks.ts'
import type { DefinitionSummaryJson } from '../http-api/definitions.ts'
import type { LimitJson, PauseJson } from '../http-api/limits.ts'
import type { IncidentJson } from '../http-api/many-runs.ts'
import type { HistoryEventJson, StepJson, WhyJson } from '../http-api/run-details.ts'
import type { RunJson, RunSummaryJson } from '../http-api/runs.ts'
import type { ScheduleJson } from '../http-api/schedules.ts'
import type { TokenJson, WorkerJson } from '../http-api/workers.ts'
import type { RunSummary } from '../ports/run-lists.ts'
import type { LiveWorker } from '../tasks/directory.ts'
import type { TokenView } from '../tasks/tokens.ts'
import type { Why } from '../views/why.ts'

/**
 * What came over the wire, as the in-process client gives it: every time an epoch number.
 * `http-api/encode.ts` is the other way. For browsers too, so of the shapes there are only types here.
 */

export const callbackFromJson = (json: OpenCallbackJson): OpenCallback => withEpochUntil(json)

export function whyFromJson({ waits, ...rest }: WhyJson): Why {
  return { ...rest, waits: waits.map(withEpochTimes) }
}

export function incidentFromJson({ firstAt, lastAt, ...rest }: IncidentJson): Incident {
  return { ...rest, firstAt: Date.parse(firstAt), lastAt: Date.parse(lastAt) }
}

export function runFromJson({ heartbeat, queue, ...json }: RunJson): RunView {
  return {
    ...(withEpochs(json) as RunView),
    ...(heartbeat && { heartbeat: { ...heartbeat, at: Date.parse(heartbeat.at) } }),
    ...(queue && { queue: queueFromJson(queue) }),
  }
}

function queueFromJson({ expectedAt, ...queue }: NonNullable<RunJson['queue']>): QueueView {
  return { ...queue, ...(expectedAt !== undefined && { expectedAt: Date.parse(expectedAt) }) }
}

export const summaryFromJson = (json: RunSummaryJson): RunSummary => withEpochs(json)

function withEpochs<T extends RunSummaryJson>(json: T) {
  const { createdAt, startedAt, endedAt, stuckAt, wakeAt, waitingFor, ...rest } = json
  return {
    ...rest,
    createdAt: Date.parse(createdAt),
    ...(startedAt !== undefined && { startedAt: Date.parse(startedAt) }),
    ...(endedAt !== undefined && { endedAt: Date.parse(endedAt) }),
    ...(stuckAt !== undefined && { stuckAt: Date.parse(stuckAt) }),
    ...(wakeAt !== undefined && { wakeAt: Date.parse(wakeAt) }),
    ...(waitingFor && { waitingFor: waitingFor.map(withEpochTimes) }),
  }
}

export function eventFromJson(json: HistoryEventJson): HistoryEvent {
  return { ...withEpochUntil(json), at: Date.parse(json.at) } as HistoryEvent
}

export function stepFromJson({ startedAt, endedAt, wakeAt, ...step }: StepJson): StepView {
  return {
    ...step,
    ...(startedAt !== undefined && { startedAt: Date.parse(startedAt) }),
    ...(endedAt !== undefined && { endedAt: Date.parse(endedAt) }),
    ...(wakeAt !== undefined && { wakeAt: Date.parse(wakeAt) }),
  }
}

function withEpochTimes<T extends { since?: string; until?: string }>({
  since,
  until,
  ...rest
}: T): Omit<T, 'since' | 'until'> & { since?: number; until?: number } {
  return {
    ...rest,
    ...(since !== undefined && { since: Date.parse(since) }),
    ...(until !== undefined && { until: Date.parse(until) }),
  }
}

function withEpochUntil<T extends { until?: string }>({ until, ...rest }: T): Omit<T, 'until'> & { until?: number } {
  return until === undefined ? rest : { ...rest, until: Date.parse(until) }
}

export function scheduleFromJson({ nextDue, lastError, ...schedule }: ScheduleJson): ScheduleView {
  const { at, message } = lastError ?? {}
  return {
    ...schedule,
    ...(nextDue !== undefined && { nextDue: Date.parse(nextDue) }),
    ...(message !== undefined && { lastError: { ...(at !== undefined && { at: Date.parse(at) }), message } }),
  }
}

export function workerFromJson({ last_seen, ...worker }: WorkerJson): LiveWorker {
  return { ...worker, seenAt: Date.parse(last_seen) }
}

export function tokenFromJson({
  id,
  name,
  scopes,
  workflows,
  task_types,
  created_at,
  expires_at,
  state,
}: TokenJson): TokenView {
  return {
    id,
    name,
    scopes,
    ...(workflows && { workflows }),
    ...(task_types && { types: task_types }),
    createdAt: Date.parse(created_at),
    ...(expires_at !== undefined && { expiresAt: Date.parse(expires_at) }),
    state,
  }
}

export function limitFromJson({ gates, ...limit }: LimitJson): LimitView {
  return {
    ...limit,
    gates: gates.map(({ restUntil, ...gate }) => ({
      ...gate,
      ...(restUntil !== undefined && { restUntil: Date.parse(restUntil) }),
    })),
  }
}

export function definitionFromJson({ createdAt, updatedAt, ...rest }: DefinitionSummaryJson): DefinitionSummary {
  return { ...rest, createdAt: Date.parse(createdAt), updatedAt: Date.parse(updatedAt) }
}

export const pauseFromJson = (pause: PauseJson): PauseView => ({ ...pause, since: Date.parse(pause.since) })
