import type { Duration } from '../base/duration.ts'
import { ConflictError, type Problem } from '../base/errors.ts'
import { ownKey } from '../base/own-key.ts'
import { validateOrThrow } from '../base/schema.ts'
import type { Giving } from '../base/storable.ts'
import { encode } from '../base/values.ts'
import type { EraseTagged } from '../bulk/erase-tagged.ts'
import type { IncidentFilter, Incidents } from '../bulk/incidents.ts'
import type { Bulk, WouldSteer } from '../bulk/steer-many.ts'
import type { OpenCallback } from '../client/callbacks.ts'
import type { HistoryEvent, HistoryOptions } from '../client/history.ts'
import type { AskOptions, ListOptions, RepeatOptions, RunView, StartOptions } from '../client/options.ts'
import { outputOf, type ResultArguments, resultArguments } from '../client/output-of.ts'
import type { RerunOptions } from '../client/rerunning.ts'
import type { ScheduleView } from '../client/schedules.ts'
import { StartedRun } from '../client/started-run.ts'
import type { WorkflowClient } from '../client/workflow-client.ts'
import type { DefinitionSummary, SavedDefinition } from '../definitions/catalogue.ts'
import type { StoredVersion } from '../definitions/definition-store.ts'
import type { StepView } from '../definitions/step-states.ts'
import type { PauseScope, PauseView } from '../flow/pauses.ts'
import type { PauseJson, PausesJson } from '../http-api/limits.ts'
import type { IncidentsJson, WouldSteerJson } from '../http-api/many-runs.ts'
import type { HistoryEventJson, HistoryPageJson, StepsJson, WhyJson } from '../http-api/run-details.ts'
import type { CountsJson, RunJson, RunPageJson, StartedJson } from '../http-api/runs.ts'
import type { AcceptedJson } from '../http-api/steering.ts'
import { PROBLEM_BASE } from '../http-api/terms.ts'
import type { RunStatus } from '../ports/run.ts'
import type { RunCounts, RunPage } from '../ports/run-lists.ts'
import type { LiveWorker } from '../tasks/directory.ts'
import type { NewToken, TokenView } from '../tasks/tokens.ts'
import type { Why } from '../views/why.ts'
import type { RunRequest, Signal, Workflow } from '../workflow.ts'
import { RemoteAdministration } from './administration.ts'
import { RemoteCallbacks } from './callbacks.ts'
import { RemoteDefinitions } from './definitions.ts'
import { HttpError } from './errors.ts'
import { RemoteLimits } from './limits.ts'
import { pathOf, Requests, runPath, timeText } from './requests.ts'
import { Transport, type TransportOptions } from './transport.ts'
import { ask, launch, settledBy, startAndSettle, untilOf } from './waiting.ts'
import {
  eventFromJson,
  incidentFromJson,
  pauseFromJson,
  runFromJson,
  stepFromJson,
  summaryFromJson,
  whyFromJson,
} from './wire.ts'

/**
 * The in-process client's methods over HTTP, with fetch and nothing of Node's. Every POST carries an
 * idempotency key, the caller's or one of its own, so that a request whose answer got lost is repeated
 * without harm.
 */
export class OverwinterClient implements WorkflowClient {
  readonly limits: RemoteLimits
  private readonly requests: Requests
  private readonly callbacks: RemoteCallbacks
  private readonly definitions: RemoteDefinitions
  private readonly administration: RemoteAdministration

  constructor(options: TransportOptions) {
    this.requests = new Requests(new Transport(options))
    this.limits = new RemoteLimits(this.requests)
    this.callbacks = new RemoteCallbacks(this.requests)
    this.definitions = new RemoteDefinitions(this.requests)
    this.administration = new RemoteAdministration(this.requests)
  }

  async start<I, O>(
    workflow: Workflow<I, O> | string,
    ...[input, options = {}]: Giving<I, StartOptions>
  ): Promise<StartedRun<O>> {
    const { body, created } = await launch<StartedJson>(this.requests, workflow, input, options)
    return new StartedRun<O>(this, { ...body, created })
  }

  startAndSettle<I, O>(
    workflow: Workflow<I, O> | string,
    ...[input, options = {}]: Giving<I, StartOptions & { timeout?: Duration }>
  ): Promise<{ run: RunView; created: boolean }> {
    return startAndSettle(this.requests, workflow, input, options)
  }

  async get(runId: string): Promise<RunView> {
    return runFromJson(await this.requests.read<RunJson>(runPath(runId)))
  }

  async list(options: ListOptions = {}): Promise<RunPage> {
    const { from, to, limit, hidesInternal, ...filter } = options
    const { runs, cursor } = await this.requests.read<RunPageJson>('/runs', {
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

  async settled(runId: string, { timeout }: { timeout?: Duration } = {}): Promise<RunView> {
    return settledBy(this.requests, runId, untilOf(timeout, `the timeout for run '${runId}'`))
  }

  async history(runId: string, { after }: HistoryOptions = {}): Promise<HistoryEvent[]> {
    const events: HistoryEvent[] = []
    let cursor: string | undefined
    do {
      const query = cursor === undefined ? { after } : { cursor }
      const page = await this.requests.read<HistoryPageJson>(runPath(runId, 'history'), query)
      events.push(...page.events.map(eventFromJson))
      cursor = page.cursor
    } while (cursor !== undefined)
    return events
  }

  async event(runId: string, n: string): Promise<HistoryEvent | undefined> {
    try {
      return eventFromJson(await this.requests.read<HistoryEventJson>(runPath(runId, 'events', n)))
    } catch (error) {
      if (error instanceof HttpError && error.type === `${PROBLEM_BASE}unknown-event`) return undefined
      throw error
    }
  }

  async why(runId: string): Promise<Why> {
    return whyFromJson(await this.requests.read<WhyJson>(runPath(runId, 'why')))
  }

  async steps(runId: string): Promise<StepView[]> {
    return (await this.requests.read<StepsJson>(runPath(runId, 'steps'))).steps.map(stepFromJson)
  }

  async counts(): Promise<RunCounts> {
    return (await this.requests.read<CountsJson>('/counts')).counts
  }

  async incidents({ workflow, since }: IncidentFilter = {}): Promise<Incidents> {
    const query = { workflow, since: timeText(since) }
    const { incidents, isComplete } = await this.requests.read<IncidentsJson>('/incidents', query)
    return { incidents: incidents.map(incidentFromJson), isComplete }
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
    return (await this.requests.post<AcceptedJson>(runPath(runId, 'signals', name), kept, options)).body
  }

  async ask<In, Out>(
    runId: string,
    request: RunRequest<unknown, In, never, Out> | string,
    ...[payload, options]: Giving<In, AskOptions>
  ): Promise<Out> {
    const asked = request as RunRequest<unknown, unknown, never, unknown>
    return (await ask(this.requests, runId, asked, payload, options)) as Out
  }

  async cancel(runId: string, reason?: string, options?: RepeatOptions): Promise<void> {
    await this.requests.post(runPath(runId, 'cancel'), { reason }, options)
  }

  async terminate(runId: string, reason?: string, options?: RepeatOptions): Promise<void> {
    await this.requests.post(runPath(runId, 'terminate'), { reason }, options)
  }

  async retry(runId: string, options?: RepeatOptions): Promise<void> {
    await this.requests.post(runPath(runId, 'retry'), undefined, options)
  }

  async rerun(runId: string, options: RerunOptions): Promise<{ runId: string; created: boolean }> {
    const { idempotencyKey, ...body } = options
    const answer = await this.requests.post<StartedJson>(runPath(runId, 'rerun'), body, { idempotencyKey })
    const { runId: started } = answer.body
    // To the server a key of our own means that this may be a repeat. Sent once, it was none: the id is another run's.
    if (answer.status !== 201 && idempotencyKey === undefined && answer.attempts === 1)
      throw new ConflictError(`run '${started}' exists already; choose another id for the rerun`)
    return { runId: started, created: answer.status === 201 || idempotencyKey === undefined }
  }

  async wake(runId: string, options?: RepeatOptions): Promise<void> {
    await this.requests.post(runPath(runId, 'wake'), undefined, options)
  }

  erase(runId: string): Promise<void> {
    return this.requests.delete(runPath(runId))
  }

  async eraseTagged(
    tag: string,
    { idempotencyKey = ownKey(), terminate, workflow }: Omit<EraseTagged, 'tag'> & RepeatOptions = {},
  ): Promise<{ runId: string; status: RunStatus }> {
    const query = { tag, workflow, ...(terminate && { terminate: 'true' }) }
    const call = { method: 'DELETE', path: '/runs', query, idempotencyKey } as const
    return (await this.requests.transport.send<StartedJson>(call)).body
  }

  async pause(scope: PauseScope): Promise<PauseView> {
    return pauseFromJson((await this.requests.post<PauseJson>('/pauses', scope)).body)
  }

  async resume(scope: PauseScope, { perSecond }: { perSecond?: number } = {}): Promise<PauseView> {
    return pauseFromJson((await this.requests.post<PauseJson>('/pauses/resume', { ...scope, perSecond })).body)
  }

  async pauses(): Promise<PauseView[]> {
    return (await this.requests.read<PausesJson>('/pauses')).pauses.map(pauseFromJson)
  }

  async steerMany(bulk: Bulk, options: RepeatOptions = {}): Promise<{ runId: string; status: RunStatus }> {
    return (await this.requests.post<StartedJson>(bulkPath(bulk), bulkBody(bulk), options)).body
  }

  async wouldSteer(bulk: Bulk): Promise<WouldSteer> {
    return (await this.requests.post<WouldSteerJson>(bulkPath(bulk), { ...bulkBody(bulk), dryRun: true })).body
  }

  listCallbacks(runId: string): Promise<OpenCallback[]> {
    return this.callbacks.listCallbacks(runId)
  }

  completeCallback(token: string, result?: unknown, options?: RepeatOptions): Promise<void> {
    return this.callbacks.completeCallback(token, result, options)
  }

  failCallback(token: string, error: unknown, options?: RepeatOptions): Promise<void> {
    return this.callbacks.failCallback(token, error, options)
  }

  heartbeatCallback(token: string): Promise<void> {
    return this.callbacks.heartbeatCallback(token)
  }

  listSchedules(): Promise<ScheduleView[]> {
    return this.administration.listSchedules()
  }

  pauseSchedule(name: string, options?: RepeatOptions): Promise<void> {
    return this.administration.pauseSchedule(name, options)
  }

  resumeSchedule(name: string, options?: RepeatOptions): Promise<void> {
    return this.administration.resumeSchedule(name, options)
  }

  triggerSchedule(name: string, options?: RepeatOptions): Promise<void> {
    return this.administration.triggerSchedule(name, options)
  }

  putDefinition(name: string, definition: unknown): Promise<SavedDefinition> {
    return this.definitions.putDefinition(name, definition)
  }

  checkDefinition(name: string, definition: unknown): Promise<{ warnings: Problem[] }> {
    return this.definitions.checkDefinition(name, definition)
  }

  getDefinition(name: string, version?: number): Promise<StoredVersion> {
    return this.definitions.getDefinition(name, version)
  }

  listDefinitions(): Promise<DefinitionSummary[]> {
    return this.definitions.listDefinitions()
  }

  deleteDefinition(name: string): Promise<void> {
    return this.definitions.deleteDefinition(name)
  }

  listWorkers(): Promise<LiveWorker[]> {
    return this.administration.listWorkers()
  }

  // Tokens are what the API lets its callers in by. In process nothing asks for one.

  /**
   * A token for workers or for a part of the API, shown here and never again. Not repeated when the answer
   * gets lost: that would make another one.
   */
  createToken(token: NewToken): Promise<TokenView & { token: string }> {
    return this.administration.createToken(token)
  }

  listTokens(): Promise<TokenView[]> {
    return this.administration.listTokens()
  }

  revokeToken(id: string): Promise<void> {
    return this.administration.revokeToken(id)
  }
}

const bulkPath = ({ action, filter: { incident } }: Bulk) =>
  incident === undefined ? pathOf('bulk', action) : pathOf('incidents', incident, action)

/** Beside an incident, which its path names, the filter narrows down its runs. */
function bulkBody({ action: _, filter: { incident, ...filter }, ...rest }: Bulk): object {
  return incident !== undefined && Object.keys(filter).length === 0 ? rest : { ...rest, filter }
}
