import type { Problem } from '../base/errors.ts'
import type { ErrorRecord } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import type { Incident } from '../bulk/incidents.ts'
import type { OpenCallback } from '../client/callbacks.ts'
import type { RunView } from '../client/client.ts'
import type { HistoryEvent } from '../client/history.ts'
import type { QueueView } from '../client/run-view.ts'
import type { ScheduleView } from '../client/schedules.ts'
import type { DefinitionSummary } from '../definitions/catalogue.ts'
import type { StoredVersion } from '../definitions/definition-store.ts'
import type { StepView } from '../definitions/step-states.ts'
import type { GateView, LimitView } from '../flow/operating/limits.ts'
import type { PauseView } from '../flow/pauses.ts'
import type { Waiting } from '../ports/run.ts'
import type { RunSummary } from '../ports/run-lists.ts'
import type { LiveWorker } from '../tasks/directory.ts'
import type { TokenView } from '../tasks/tokens.ts'
import type { WaitReason, Why } from '../views/why.ts'

/** What goes over the wire: the types of the in-process client, with every time as an ISO 8601 string. */

type Times = 'createdAt' | 'startedAt' | 'endedAt' | 'stuckAt' | 'wakeAt'

export type RunJson = Omit<RunView, Times | 'waitingFor' | 'heartbeat' | 'queue' | 'retentionMs'> & {
  createdAt: string
  startedAt?: string
  endedAt?: string
  stuckAt?: string
  wakeAt?: string
  waitingFor?: (Omit<Waiting, 'until' | 'since'> & { until?: string; since?: string })[]
  heartbeat?: Omit<NonNullable<RunView['heartbeat']>, 'at'> & { at: string }
  queue?: Omit<QueueView, 'expectedAt'> & { expectedAt?: string }
}

/** A run in a list: no payloads. */
export type RunSummaryJson = Pick<RunJson, 'runId' | 'waitingFor' | Times> & Omit<RunSummary, Times | 'waitingFor'>

export interface HistoryEventJson {
  type: HistoryEvent['type']
  at: string
  n: string
  until?: string
  error?: ErrorRecord
  /** Payloads that were left out, as was asked for. */
  omitted?: string[]
}

export interface HistoryPageJson {
  events: HistoryEventJson[]
  /** Each generation has a history of its own. */
  generation: number
  cursor?: string
}

export type OpenCallbackJson = Omit<OpenCallback, 'until'> & { until?: string }

export const callbackFromJson = (json: OpenCallbackJson): OpenCallback => withEpochUntil(json)

type StepTimes = 'startedAt' | 'endedAt' | 'wakeAt'

export type StepJson = Omit<StepView, StepTimes> & { [T in StepTimes]?: string }

export interface SavedDefinitionJson {
  name: string
  version: number
  createdAt: string
  warnings: Problem[]
}

export type DefinitionSummaryJson = Omit<DefinitionSummary, 'createdAt' | 'updatedAt'> & {
  createdAt: string
  updatedAt: string
}
export type StoredVersionJson = Omit<StoredVersion, 'createdAt'> & { createdAt: string }

export interface RunPageJson {
  runs: RunSummaryJson[]
  cursor?: string
}

export type WhyJson = Omit<Why, 'waits'> & {
  waits: (Omit<WaitReason, 'since' | 'until'> & { since?: string; until?: string })[]
}

export function whyFromJson({ waits, ...rest }: WhyJson): Why {
  return { ...rest, waits: waits.map(withEpochTimes) }
}

export interface IncidentsJson {
  incidents: (Omit<Incident, 'firstAt' | 'lastAt'> & { firstAt: string; lastAt: string })[]
  isComplete: boolean
}

export function incidentFromJson({ firstAt, lastAt, ...rest }: IncidentsJson['incidents'][number]): Incident {
  return { ...rest, firstAt: Date.parse(firstAt), lastAt: Date.parse(lastAt) }
}

/** A workflow, and what it takes: JSON Schemas, where its own can be described. */
export interface WorkflowJson {
  name: string
  versions: number[]
  latest: number
  input?: object
  output?: object
  signals: { name: string; kind: 'signal' | 'request'; payload?: object }[]
  /** It is stored, and not in the code. */
  isStored?: true
}

/** What a run replied to a request. */
export interface ReplyJson {
  result?: Json
}

/** RFC 9457. `type` is stable; the words may change. */
export interface ProblemJson {
  type: string
  title: string
  status: number
  detail: string
  problems?: Problem[]
  known?: string[]
  /** What a run refused a request with. */
  error?: ErrorRecord
}

export const PROBLEM_BASE = 'urn:overwinter:problem:'

export function runFromJson({ heartbeat, queue, ...json }: RunJson): RunView {
  return {
    ...summaryFromJson(json),
    ...(heartbeat && { heartbeat: { ...heartbeat, at: Date.parse(heartbeat.at) } }),
    ...(queue && { queue: queueFromJson(queue) }),
  }
}

function queueFromJson({ expectedAt, ...queue }: NonNullable<RunJson['queue']>): QueueView {
  return { ...queue, ...(expectedAt !== undefined && { expectedAt: Date.parse(expectedAt) }) }
}

export function summaryFromJson<T extends RunSummaryJson | Omit<RunJson, 'heartbeat' | 'queue'>>(json: T) {
  const { createdAt, startedAt, endedAt, stuckAt, wakeAt, waitingFor, ...rest } = json
  return {
    ...rest,
    createdAt: Date.parse(createdAt),
    ...(startedAt !== undefined && { startedAt: Date.parse(startedAt) }),
    ...(endedAt !== undefined && { endedAt: Date.parse(endedAt) }),
    ...(stuckAt !== undefined && { stuckAt: Date.parse(stuckAt) }),
    ...(wakeAt !== undefined && { wakeAt: Date.parse(wakeAt) }),
    ...(waitingFor && {
      waitingFor: waitingFor.map(withEpochTimes),
    }),
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

export type ScheduleJson = Omit<ScheduleView, 'nextDue' | 'lastError'> & {
  nextDue?: string
  lastError?: { at?: string; message: string }
}

export function scheduleToJson({ nextDue, lastError, ...schedule }: ScheduleView): ScheduleJson {
  const { at, message } = lastError ?? {}
  return {
    ...schedule,
    ...(nextDue !== undefined && { nextDue: new Date(nextDue).toISOString() }),
    ...(message !== undefined && {
      lastError: { ...(at !== undefined && { at: new Date(at).toISOString() }), message },
    }),
  }
}

export function scheduleFromJson({ nextDue, lastError, ...schedule }: ScheduleJson): ScheduleView {
  const { at, message } = lastError ?? {}
  return {
    ...schedule,
    ...(nextDue !== undefined && { nextDue: Date.parse(nextDue) }),
    ...(message !== undefined && { lastError: { ...(at !== undefined && { at: Date.parse(at) }), message } }),
  }
}

export type WorkerJson = Omit<LiveWorker, 'seenAt'> & { last_seen: string }

export interface TokenJson {
  id: string
  name: string
  scopes: TokenView['scopes']
  workflows?: string[]
  task_types?: string[]
  created_at: string
  expires_at?: string
  state: TokenView['state']
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

export type LimitJson = Omit<LimitView, 'gates'> & { gates: (Omit<GateView, 'restUntil'> & { restUntil?: string })[] }

export function limitToJson({ gates, ...limit }: LimitView): LimitJson {
  return {
    ...limit,
    gates: gates.map(({ restUntil, ...gate }) => ({
      ...gate,
      ...(restUntil !== undefined && { restUntil: new Date(restUntil).toISOString() }),
    })),
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

export type PauseJson = Omit<PauseView, 'since'> & { since: string }

export const pauseToJson = (pause: PauseView): PauseJson => ({ ...pause, since: new Date(pause.since).toISOString() })
export const pauseFromJson = (pause: PauseJson): PauseView => ({ ...pause, since: Date.parse(pause.since) })
