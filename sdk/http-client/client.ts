import { type Duration, milliseconds } from '../base/duration.ts'
import { type Problem, recordError } from '../base/errors.ts'
import { ownKey } from '../base/own-key.ts'
import { validateOrThrow } from '../base/schema.ts'
import type { Giving } from '../base/storable.ts'
import { encode } from '../base/values.ts'
import type { EraseTagged } from '../bulk/erase-tagged.ts'
import type { IncidentFilter, Incidents } from '../bulk/incidents.ts'
import type { Bulk, WouldSteer } from '../bulk/steer-many.ts'
import type { OpenCallback } from '../client/callbacks.ts'
import type { AskOptions, Client, ListOptions, RepeatOptions, RunView, StartOptions } from '../client/client.ts'
import type { HistoryEvent, HistoryOptions } from '../client/history.ts'
import { outputOf, type ResultArguments, resultArguments } from '../client/output-of.ts'
import { contentOf, tooLate } from '../client/reply-content.ts'
import type { RerunOptions } from '../client/rerunning.ts'
import type { RemoteSchedules, ScheduleView } from '../client/schedules.ts'
import { StartedRun } from '../client/started-run.ts'
import type { DefinitionSummary, SavedDefinition } from '../definitions/catalogue.ts'
import type { StoredVersion } from '../definitions/definition-store.ts'
import type { StepView } from '../definitions/step-states.ts'
import type { PauseScope, PauseView } from '../flow/pauses.ts'
import type { CallbacksJson } from '../http-api/callbacks.ts'
import type {
  CheckedDefinitionJson,
  DefinitionsJson,
  SavedDefinitionJson,
  StoredDefinitionJson,
} from '../http-api/definitions.ts'
import type { PauseJson, PausesJson } from '../http-api/limits.ts'
import type { IncidentsJson } from '../http-api/many-runs.ts'
import type { HistoryEventJson, HistoryPageJson, StepsJson, WhyJson } from '../http-api/run-details.ts'
import type { CountsJson, RunJson, RunPageJson, StartedJson } from '../http-api/runs.ts'
import type { SchedulesJson } from '../http-api/schedules.ts'
import type { AcceptedJson, ReplyJson } from '../http-api/steering.ts'
import { PROBLEM_BASE } from '../http-api/terms.ts'
import type { NewTokenJson, TokensJson, WorkersJson } from '../http-api/workers.ts'
import { hasEnded, type RunStatus } from '../ports/run.ts'
import type { RunCounts, RunPage } from '../ports/run-lists.ts'
import type { LiveWorker } from '../tasks/directory.ts'
import type { NewToken, TokenView } from '../tasks/tokens.ts'
import { meantRunId } from '../views/as-written.ts'
import { readTraceparent } from '../views/span-ids.ts'
import type { Why } from '../views/why.ts'
import type { AnyWorkflow, RunRequest, Signal, Workflow } from '../workflow.ts'
import { HttpError } from './errors.ts'
import { RemoteLimits } from './limits.ts'
import { Transport, type TransportOptions } from './transport.ts'
import {
  callbackFromJson,
  definitionFromJson,
  eventFromJson,
  incidentFromJson,
  pauseFromJson,
  runFromJson,
  scheduleFromJson,
  stepFromJson,
  summaryFromJson,
  tokenFromJson,
  whyFromJson,
  workerFromJson,
} from './wire.ts'

/** One request is held this long at most; the server cuts at 25 s. */
const POLL_MS = 20_000

/**
 * The in-process client's methods over HTTP, with fetch and nothing of Node's. Every POST carries an idempotency key, the
 * caller's or one of its own, so that a request whose answer got lost is repeated without harm.
 */
export class OverwinterClient
  implements
    Pick<Client, Exclude<keyof Client, 'registry' | 'definitions' | 'callbacks' | 'world' | 'limits'>>,
    RemoteSchedules
{
  private readonly transport: Transport
  /** Limits while they are in use. */
  readonly limits: RemoteLimits

  constructor(options: TransportOptions) {
    this.transport = new Transport(options)
    this.limits = new RemoteLimits(this.transport)
  }

  async start<I, O>(
    workflow: Workflow<I, O> | string,
    ...[input, options = {}]: Giving<I, StartOptions>
  ): Promise<StartedRun<O>> {
    const { body, created } = await this.launch<StartedJson>(workflow, input, options, {})
    return new StartedRun<O>(this, { ...body, created })
  }

  async startAndSettle<I, O>(
    workflow: Workflow<I, O> | string,
    ...[input, { timeout, ...options } = {}]: Giving<I, StartOptions & { timeout?: Duration }>
  ): Promise<{ run: RunView; created: boolean }> {
    const until =
      timeout === undefined ? Number.POSITIVE_INFINITY : Date.now() + milliseconds(timeout, 'the timeout of a start')
    // In one request: the server hands a run that somebody waits for straight to a runner.
    const wait = Math.min(POLL_MS, until - Date.now())
    const { body, created } = await this.launch<RunJson>(workflow, input, options, { wait: `${wait}ms` })
    const run = runFromJson(body)
    if (isSettled(run) || Date.now() >= until) return { run, created }
    return {
      run: await this.settled(run.runId, timeout === undefined ? {} : { timeout: Math.max(1, until - Date.now()) }),
      created,
    }
  }

  private async launch<T>(
    workflow: AnyWorkflow | string,
    input: unknown,
    { idempotencyKey, traceparent, ...options }: StartOptions,
    query: Record<string, string>,
  ): Promise<{ body: T; created: boolean }> {
    const { name, version } = typeof workflow === 'string' ? { name: workflow, version: undefined } : workflow
    const kept = encode(input, `the input of workflow '${name}'`)
    const path = `/workflows/${encodeURIComponent(name)}/runs`
    const { status, body, attempts } = await this.transport.send<T>({
      ...{
        method: 'POST',
        path,
        query,
        body: { ...options, input: kept, version },
        idempotencyKey: idempotencyKey ?? ownKey(),
      },
      ...(readTraceparent(traceparent) && { traceparent }),
    })
    // Under a key that nobody else has, "started before" may mean by an earlier attempt of this call.
    const isOwnRepeat = idempotencyKey === undefined && options.id === undefined && attempts > 1
    return { body, created: status === 201 || isOwnRepeat }
  }

  async get(runId: string): Promise<RunView> {
    return runFromJson(await this.read<RunJson>(runPath(runId)))
  }

  /** Newest first, and without payloads. A page may be short, or even empty, and still have a cursor. */
  async list(options: ListOptions = {}): Promise<RunPage> {
    const { from, to, limit, hidesInternal, ...filter } = options
    const { runs, cursor } = await this.read<RunPageJson>('/runs', {
      ...filter,
      ...(hidesInternal && { internal: 'hide' }),
      from: timeText(from),
      to: timeText(to),
      limit: limit?.toString(),
    })
    return { runs: runs.map(summaryFromJson), ...(cursor !== undefined && { cursor }) }
  }

  result<O = unknown>(runId: string, options?: { timeout?: Duration }): Promise<O>
  result<O>(workflow: Workflow<never, O>, runId: string, options?: { timeout?: Duration }): Promise<O>
  async result<O>(...asked: ResultArguments): Promise<O> {
    const { workflow, runId, options } = resultArguments(asked)
    return outputOf<O>(await this.settled(runId, options), workflow)
  }

  async settled(runId: string, options: { timeout?: Duration } = {}): Promise<RunView> {
    const until =
      options.timeout === undefined
        ? Number.POSITIVE_INFINITY
        : Date.now() + milliseconds(options.timeout, `the timeout for run '${runId}'`)
    for (;;) {
      const wait = Math.ceil(Math.min(POLL_MS, until - Date.now()))
      const run = runFromJson(await this.read<RunJson>(runPath(runId), wait > 0 ? { wait: `${wait}ms` } : {}))
      if (isSettled(run) || Date.now() >= until) return run
    }
  }

  /** Removes everything that is stored of a run that has ended. */
  async erase(runId: string): Promise<void> {
    await this.transport.send({ method: 'DELETE', path: runPath(runId) })
  }

  /** Starts a run that erases all runs with a tag; its result says how many there were. */
  async eraseTagged(
    tag: string,
    options: Omit<EraseTagged, 'tag'> & RepeatOptions = {},
  ): Promise<{ runId: string; status: RunStatus }> {
    const { idempotencyKey = ownKey(), terminate, workflow } = options
    const query = { tag, workflow, ...(terminate && { terminate: 'true' }) }
    return (
      await this.transport.send<StartedJson>({
        method: 'DELETE',
        path: '/runs',
        query,
        idempotencyKey,
      })
    ).body
  }

  /** What happened in the run since it began, or began anew. With `after`, only what came behind that event's `n`. */
  async history(runId: string, { after }: HistoryOptions = {}): Promise<HistoryEvent[]> {
    const events: HistoryEvent[] = []
    let cursor: string | undefined
    do {
      const page = await this.read<HistoryPageJson>(
        runPath(runId, '/history'),
        cursor === undefined ? { after } : { cursor },
      )
      events.push(...page.events.map(eventFromJson))
      cursor = page.cursor
    } while (cursor !== undefined)
    return events
  }

  /** One line of the history, by its `n`; undefined where there is none. */
  async event(runId: string, n: string): Promise<HistoryEvent | undefined> {
    try {
      return eventFromJson(await this.read<HistoryEventJson>(runPath(runId, `/events/${encodeURIComponent(n)}`)))
    } catch (error) {
      if (error instanceof HttpError && error.type === `${PROBLEM_BASE}unknown-event`) return undefined
      throw error
    }
  }

  /** Lets nothing new begin: new runs and those that wake up are queued, running steps end. */
  async pause(scope: PauseScope): Promise<PauseView> {
    return pauseFromJson((await this.post<PauseJson>('/pauses', scope)).body)
  }

  /** Lets what is paused go on, the oldest and those of the highest priority first; by default 100 runs a second. */
  async resume(scope: PauseScope, { perSecond }: { perSecond?: number } = {}): Promise<PauseView> {
    return pauseFromJson((await this.post<PauseJson>('/pauses/resume', { ...scope, perSecond })).body)
  }

  /** What is paused. */
  async pauses(): Promise<PauseView[]> {
    return (await this.read<PausesJson>('/pauses')).pauses.map(pauseFromJson)
  }

  /** How many runs are in each state. Of a deployment only those in trouble are counted, up to 1,000. */
  async counts(): Promise<RunCounts> {
    return (await this.read<CountsJson>('/counts')).counts
  }

  /** Failures, by what they have in common. `since`: only of runs that failed or got stuck from then on. */
  async incidents({ workflow, since }: IncidentFilter = {}): Promise<Incidents> {
    const { incidents, isComplete } = await this.read<IncidentsJson>('/incidents', { workflow, since: timeText(since) })
    return { incidents: incidents.map(incidentFromJson), isComplete }
  }

  /** Starts a run that does something to many runs, each once, and gives its id: its progress and its result say how many there were. */
  async steerMany(bulk: Bulk, options: RepeatOptions = {}): Promise<{ runId: string; status: RunStatus }> {
    return (await this.post<StartedJson>(bulkPath(bulk), bulkBody(bulk), options)).body
  }

  /** How many runs `steerMany` would do it to, and some of them. */
  async wouldSteer(bulk: Bulk): Promise<WouldSteer> {
    return (await this.post<WouldSteer>(bulkPath(bulk), { ...bulkBody(bulk), dryRun: true })).body
  }

  /** Why the run stands where it stands, in words, and what can be done about it. */
  async why(runId: string): Promise<Why> {
    return whyFromJson(await this.read<WhyJson>(runPath(runId, '/why')))
  }

  async steps(runId: string): Promise<StepView[]> {
    const { steps } = await this.read<StepsJson>(runPath(runId, '/steps'))
    return steps.map(stepFromJson)
  }

  /** A new version, unless the latest one says the same. A name that is not in the definition is given to it. */
  async putDefinition(name: string, definition: unknown): Promise<SavedDefinition> {
    const { status, body } = await this.transport.send<SavedDefinitionJson>({
      method: 'PUT',
      path: definitionPath(name),
      body: definition,
    })
    return { ...body, createdAt: Date.parse(body.createdAt), isNew: status === 201 }
  }

  /** What `putDefinition` would say, without saving. */
  async checkDefinition(name: string, definition: unknown): Promise<{ warnings: Problem[] }> {
    const { body } = await this.transport.send<CheckedDefinitionJson>({
      method: 'PUT',
      path: definitionPath(name),
      query: { check: 'true' },
      body: definition,
    })
    return { warnings: body.warnings }
  }

  async getDefinition(name: string, version?: number): Promise<StoredVersion> {
    const stored = await this.read<StoredDefinitionJson>(definitionPath(name), { version: version?.toString() })
    return { definition: stored.definition, version: stored.version, createdAt: Date.parse(stored.createdAt) }
  }

  async listDefinitions(): Promise<DefinitionSummary[]> {
    const { definitions } = await this.read<DefinitionsJson>('/definitions')
    return definitions.map(definitionFromJson)
  }

  /** Refused while runs of it are alive. */
  async deleteDefinition(name: string): Promise<void> {
    await this.transport.send({ method: 'DELETE', path: definitionPath(name) })
  }

  async ask<In, Out>(
    runId: string,
    request: RunRequest<unknown, In, never, Out> | string,
    ...[payload, options = {}]: Giving<In, AskOptions>
  ): Promise<Out> {
    const { name, schema } = typeof request === 'string' ? { name: request, schema: undefined } : request
    await validateOrThrow(schema, payload, `the payload of request '${name}'`)
    const kept = encode(payload, `the payload of request '${name}'`)
    const { idempotencyKey = ownKey(), timeout } = options
    const until =
      timeout === undefined
        ? Number.POSITIVE_INFINITY
        : Date.now() + milliseconds(timeout, `the timeout of request '${name}'`)
    const question = { runId, request: name, idempotencyKey }
    const path = runPath(runId, `/requests/${encodeURIComponent(name)}`)
    for (;;) {
      const wait = Math.ceil(Math.max(1, Math.min(POLL_MS, until - Date.now())))
      // Under one key: what is asked again is what was asked.
      const { status, body } = await this.post<ReplyJson>(path, kept, { idempotencyKey }, { wait: `${wait}ms` })
      if (status === 200) return contentOf(body, question) as Out
      if (Date.now() >= until) throw tooLate(question)
    }
  }

  async signal<In>(
    runId: string,
    signal: Signal<unknown, In> | string,
    ...[payload, options]: Giving<In, RepeatOptions>
  ): Promise<{ accepted: boolean }> {
    const { name, schema } = typeof signal === 'string' ? { name: signal, schema: undefined } : signal
    // The server knows signals by name only, so this is the place where the schema can be checked.
    await validateOrThrow(schema, payload, `the payload of signal '${name}'`)
    const kept = encode(payload, `the payload of signal '${name}'`)
    return (await this.post<AcceptedJson>(runPath(runId, `/signals/${encodeURIComponent(name)}`), kept, options)).body
  }

  async cancel(runId: string, reason?: string, options?: RepeatOptions): Promise<void> {
    await this.post(runPath(runId, '/cancel'), { reason }, options)
  }

  async terminate(runId: string, reason?: string, options?: RepeatOptions): Promise<void> {
    await this.post(runPath(runId, '/terminate'), { reason }, options)
  }

  async retry(runId: string, options?: RepeatOptions): Promise<void> {
    await this.post(runPath(runId, '/retry'), undefined, options)
  }

  /** A new run of the same workflow and input, which takes over what happened before the given step, or begins at its beginning. */
  async rerun(runId: string, options: RerunOptions): Promise<{ runId: string; created: boolean }> {
    const { idempotencyKey, ...body } = options
    const { status, body: started } = await this.post<StartedJson>(runPath(runId, '/rerun'), body, {
      idempotencyKey,
    })
    return { runId: started.runId, created: status === 201 || idempotencyKey === undefined }
  }

  async wake(runId: string, options?: RepeatOptions): Promise<void> {
    await this.post(runPath(runId, '/wake'), undefined, options)
  }

  /** The callbacks of a run that can be answered now, each with its token. */
  async listCallbacks(runId: string): Promise<OpenCallback[]> {
    const list = (path: string, query = {}) => this.read<CallbacksJson>(path, query)
    const { callbacks } = await list('/callbacks', { run: runId }).catch((error: unknown) => {
      // A server of 0.1.0 has the list below the run. It does not know this route, so it cannot mean the run.
      if (error instanceof HttpError && error.status === 404) return list(runPath(runId, '/callbacks'))
      throw error
    })
    return callbacks.map(callbackFromJson)
  }

  async completeCallback(token: string, result?: unknown, options?: RepeatOptions): Promise<void> {
    await this.post(
      `/callbacks/${encodeURIComponent(token)}`,
      { result: encode(result, 'the result of a callback') },
      options,
    )
  }

  async failCallback(token: string, error: unknown, options?: RepeatOptions): Promise<void> {
    const { name, message, code } = recordError(error)
    await this.post(`/callbacks/${encodeURIComponent(token)}`, { error: { name, message, code } }, options)
  }

  /** A sign of life from whoever is about to settle it, where the callback has a heartbeatTimeout. */
  async heartbeatCallback(token: string): Promise<void> {
    await this.post(`/callbacks/${encodeURIComponent(token)}/heartbeat`, undefined)
  }

  /** By name, each with when it is due next. */
  async listSchedules(): Promise<ScheduleView[]> {
    const { schedules } = await this.read<SchedulesJson>('/schedules')
    return schedules.map(scheduleFromJson)
  }

  async pauseSchedule(name: string, options?: RepeatOptions): Promise<void> {
    await this.post(schedulePath(name, 'pause'), undefined, options)
  }

  async resumeSchedule(name: string, options?: RepeatOptions): Promise<void> {
    await this.post(schedulePath(name, 'resume'), undefined, options)
  }

  /** Starts a run now, whatever the plan says. */
  async triggerSchedule(name: string, options?: RepeatOptions): Promise<void> {
    await this.post(schedulePath(name, 'trigger'), undefined, options)
  }

  /** The workers that have given a sign of life in the last minute. */
  async listWorkers(): Promise<LiveWorker[]> {
    const { workers } = await this.read<WorkersJson>('/v1/workers')
    return workers.map(workerFromJson)
  }

  /** A token for workers or for a part of the API, shown here and never again. Not repeated when the answer gets lost: that would make another one. */
  async createToken({ name, scopes, workflows, types, expiresIn }: NewToken): Promise<TokenView & { token: string }> {
    const body = { name, scopes, workflows, task_types: types, expires_in: expiresIn }
    const { body: made } = await this.transport.send<NewTokenJson>({
      method: 'POST',
      path: '/v1/tokens',
      body,
    })
    return { ...tokenFromJson(made), token: made.token }
  }

  async listTokens(): Promise<TokenView[]> {
    const { tokens } = await this.read<TokensJson>('/v1/tokens')
    return tokens.map(tokenFromJson)
  }

  async revokeToken(id: string): Promise<void> {
    await this.transport.send({ method: 'DELETE', path: `/v1/tokens/${encodeURIComponent(id)}` })
  }

  private async read<T>(path: string, query?: Record<string, string | undefined>): Promise<T> {
    return (await this.transport.send<T>({ method: 'GET', path, query })).body
  }

  private post<T>(
    path: string,
    body: unknown,
    { idempotencyKey = ownKey() }: RepeatOptions = {},
    query: Record<string, string> = {},
  ): Promise<{ status: number; body: T }> {
    return this.transport.send<T>({ method: 'POST', path, query, body, idempotencyKey })
  }
}

const isSettled = ({ status }: RunView): boolean => hasEnded(status) || status === 'stuck'

function definitionPath(name: string): string {
  return `/definitions/${encodeURIComponent(name)}`
}

function schedulePath(name: string, action: string): string {
  return `/schedules/${encodeURIComponent(name)}/${action}`
}

function runPath(runId: string, rest = ''): string {
  return `/runs/${encodeURIComponent(meantRunId(runId))}${rest}`
}

const bulkPath = ({ action, filter: { incident } }: Bulk) =>
  incident === undefined ? `/bulk/${action}` : `/incidents/${encodeURIComponent(incident)}/${action}`

/** Beside an incident, which its path names, the filter narrows down its runs. */
function bulkBody({ action: _, filter: { incident, ...filter }, ...rest }: Bulk): object {
  return incident !== undefined && Object.keys(filter).length === 0 ? rest : { ...rest, filter }
}

function timeText(time: Date | string | number | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time?.toString()
}
