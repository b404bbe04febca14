import type { BulkAction } from '../sdk/bulk/steer-many.ts'
import type { HistoryEvent } from '../sdk/client/history.ts'
import type { RunView } from '../sdk/client/options.ts'
import type { StepView } from '../sdk/definitions/step-states.ts'
import type { LimitView } from '../sdk/flow/operating/limits.ts'
import type { PauseScope, PauseView } from '../sdk/flow/pauses.ts'
import type { WorkflowJson, WorkflowsJson } from '../sdk/http-api/about.ts'
import type { CallbackRequestJson, CallbacksJson, OpenCallbackJson } from '../sdk/http-api/callbacks.ts'
import type { ProblemJson } from '../sdk/http-api/errors.ts'
import type { LimitJson, LimitRequestJson, LimitsJson, PausesJson } from '../sdk/http-api/limits.ts'
import type { BulkRequestJson, IncidentJson, IncidentsJson, WouldSteerJson } from '../sdk/http-api/many-runs.ts'
import type {
  HistoryEventJson,
  HistoryPageJson,
  ReplayedJson,
  StepsJson,
  WhyJson,
} from '../sdk/http-api/run-details.ts'
import type { CountsJson, RunJson, RunPageJson, StartedJson } from '../sdk/http-api/runs.ts'
import type { SchedulesJson } from '../sdk/http-api/schedules.ts'
import type { StartRequestJson } from '../sdk/http-api/starting.ts'
import type { ReplyJson, RerunRequestJson } from '../sdk/http-api/steering.ts'
import type { WorkersJson } from '../sdk/http-api/workers.ts'
import {
  eventFromJson,
  limitFromJson,
  pauseFromJson,
  runFromJson,
  scheduleFromJson,
  stepFromJson,
  summaryFromJson,
  whyFromJson,
  workerFromJson,
} from '../sdk/http-client/wire.ts'
import type { RunSummary } from '../sdk/ports/run-lists.ts'
import { serverIsGone, serverIsThere } from './live/connection.ts'
import { Refusal, Unreachable } from './refusal.ts'

/** The API as the page uses it. Times come as ISO strings and become numbers here. */

interface Sending {
  body?: unknown
  key?: string
  signal?: AbortSignal
}

async function call(method: string, path: string, { body, key, signal }: Sending = {}): Promise<unknown> {
  let response: Response
  try {
    const headers = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    }
    response = await fetch(path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    serverIsGone()
    throw new Unreachable('the server does not answer')
  }
  if (response.status < 500) serverIsThere()
  if (response.status === 204) return undefined
  const text = await response.text()
  if (response.ok) return JSON.parse(text)
  throw new Refusal(response.status, problemIn(text))
}

/** A proxy between the page and the server may answer in its own format. */
function problemIn(text: string): Partial<ProblemJson> {
  try {
    const json = JSON.parse(text) as Partial<ProblemJson> & { message?: string }
    return json.detail === undefined && json.message !== undefined ? { detail: json.message } : json
  } catch {
    return {}
  }
}

const at = (...parts: string[]): string => parts.map((part) => `/${encodeURIComponent(part)}`).join('')

function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0
    ? path
    : `${path}?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
}

const get = <T>(path: string, signal?: AbortSignal) => call('GET', path, signal && { signal }) as Promise<T>
const post = <T = unknown>(path: string, body?: unknown, key: string = crypto.randomUUID()) =>
  call('POST', path, { body, key }) as Promise<T>

export type RunInList = RunSummary
export type PlacedEvent = HistoryEvent & { omitted?: string[] }
export type ShownRun = RunView & { omitted?: string[] }
export type RunFilter = Partial<Record<'workflow' | 'status' | 'tag' | 'idPrefix' | 'from' | 'to' | 'internal', string>>
export type Counts = CountsJson['counts']

export async function listRuns(filter: RunFilter & { cursor?: string; limit?: number }, signal?: AbortSignal) {
  const { runs, cursor } = await get<RunPageJson>(withQuery('/runs', filter), signal)
  return { runs: runs.map(summaryFromJson), cursor }
}

/** Of all workflows together. */
export const countRuns = async (signal?: AbortSignal) => (await get<CountsJson>('/counts', signal)).counts

export const getRun = async (id: string, signal?: AbortSignal) =>
  runFromJson(await get<RunJson>(`${at('runs', id)}?payloads=omit`, signal)) as ShownRun
/** With its payloads. */
export const getWholeRun = async (id: string, signal?: AbortSignal) =>
  runFromJson(await get<RunJson>(at('runs', id), signal))
export const getWhy = async (id: string, signal?: AbortSignal) =>
  whyFromJson(await get<WhyJson>(`${at('runs', id)}/why`, signal))
/** Undefined for a run of code, which has no list of steps. */
export const getSteps = async (id: string, signal?: AbortSignal): Promise<{ steps?: StepView[] }> => {
  const found = await get<StepsJson | undefined>(`${at('runs', id)}/steps?ofCode=none`, signal)
  return found ? { steps: found.steps.map(stepFromJson) } : {}
}

/** A page of a history without payloads. `after`: only events behind this place. */
export async function getHistory(
  id: string,
  { after, cursor }: { after?: string; cursor?: string },
  signal?: AbortSignal,
) {
  const page = await get<HistoryPageJson>(
    withQuery(`${at('runs', id)}/history`, { payloads: 'omit', after, cursor }),
    signal,
  )
  return { ...page, events: page.events.map(eventFromJson) as PlacedEvent[] }
}

export const getEvent = async (id: string, n: string, signal?: AbortSignal) =>
  eventFromJson(await get<HistoryEventJson>(at('runs', id, 'events', n), signal)) as PlacedEvent

export type Replayed = ReplayedJson
export const getReplay = (id: string, upTo: string, signal?: AbortSignal) =>
  get<Replayed>(withQuery(`${at('runs', id)}/replay`, { upTo }), signal)

export type OpenCallback = OpenCallbackJson
export const listCallbacks = async (id: string, signal?: AbortSignal) => {
  const list = (path: string) => get<CallbacksJson>(path, signal)
  const { callbacks } = await list(withQuery('/callbacks', { run: id })).catch((error: unknown) => {
    // A deployment of 0.1.0 has the list below the run.
    if (error instanceof Refusal && error.status === 404) return list(`${at('runs', id)}/callbacks`)
    throw error
  })
  return callbacks
}

export type WorkflowInList = WorkflowsJson['workflows'][number]
export type Workflow = WorkflowJson
export const listWorkflows = async (signal?: AbortSignal) => (await get<WorkflowsJson>('/workflows', signal)).workflows
export const getWorkflow = (name: string, signal?: AbortSignal) => get<Workflow>(at('workflows', name), signal)

export type Incident = IncidentJson
export const listIncidents = (
  filter: { workflow?: string | undefined; since?: string | undefined },
  signal?: AbortSignal,
) => get<IncidentsJson>(withQuery('/incidents', filter), signal)

export const listSchedules = async (signal?: AbortSignal) =>
  (await get<SchedulesJson>('/schedules', signal)).schedules.map(scheduleFromJson)
export const listWorkers = async (signal?: AbortSignal) =>
  (await get<WorkersJson>('/v1/workers', signal)).workers.map(workerFromJson)

export type { LimitView, PauseScope, PauseView }
export const listLimits = async (signal?: AbortSignal) =>
  (await get<LimitsJson>('/limits', signal)).limits.map(limitFromJson)
export const getLimit = async (name: string, signal?: AbortSignal) =>
  limitFromJson(await get<LimitJson>(at('limits', name), signal))
export const setLimit = (name: string, numbers: LimitRequestJson) => call('PUT', at('limits', name), { body: numbers })
export const steerLimit = (name: string, action: 'pause' | 'resume' | 'reset', key: string) =>
  post(at('limits', name, action), undefined, key)
export const listPauses = async (signal?: AbortSignal) =>
  (await get<PausesJson>('/pauses', signal)).pauses.map(pauseFromJson)
export const pauseRuns = (scope: PauseScope, key: string) => post('/pauses', scope, key)
export const resumeRuns = (scope: PauseScope, perSecond: number, key: string) =>
  post('/pauses/resume', { ...scope, perSecond }, key)

export type Standing = StartedJson
export const startRun = (workflow: string, body: StartRequestJson, key: string) =>
  post<Standing>(`${at('workflows', workflow)}/runs`, body, key)
export const signalRun = (id: string, name: string, payload: unknown, key: string) =>
  post(at('runs', id, 'signals', name), payload, key)
export const askRun = (id: string, name: string, payload: unknown, key: string) =>
  post<ReplyJson>(at('runs', id, 'requests', name), payload, key)
export const settleCallback = (token: string, answer: CallbackRequestJson, key: string) =>
  post(at('callbacks', token), answer, key)
export const steerRun = (id: string, action: 'wake' | 'retry' | 'cancel' | 'terminate', key: string, reason?: string) =>
  post<Standing>(at('runs', id, action), action === 'cancel' || action === 'terminate' ? { reason } : undefined, key)
export const rerunRun = (id: string, options: RerunRequestJson, key: string) =>
  post<Standing>(at('runs', id, 'rerun'), options, key)
export const eraseRun = (id: string) => call('DELETE', at('runs', id))
export const steerSchedule = (name: string, action: 'pause' | 'resume' | 'trigger', key: string) =>
  post(at('schedules', name, action), undefined, key)

export type { BulkAction }
export type BulkTerms = Pick<BulkRequestJson, 'perSecond' | 'limit' | 'filter'>
/** What the action would do, without doing it. */
export const tryBulk = (action: BulkAction, terms: BulkTerms) =>
  post<WouldSteerJson>(at('bulk', action), { ...terms, dryRun: true })
export const startBulk = (action: BulkAction, terms: BulkTerms, key: string) =>
  post<Standing>(at('bulk', action), terms, key)
