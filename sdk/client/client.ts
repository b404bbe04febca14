import { type Duration, pastMoment, pointInTime } from '../base/duration.ts'
import { ConflictError, InvalidInputError, type Problem } from '../base/errors.ts'
import { checkName, isInternal } from '../base/names.ts'
import type { Giving } from '../base/storable.ts'
import { checkBulk } from '../bulk/check-bulk.ts'
import { type EraseTagged, eraseTagged } from '../bulk/erase-tagged.ts'
import { type IncidentFilter, type Incidents, incidentsOf } from '../bulk/incidents.ts'
import { type Bulk, steerMany, type WouldSteer, wouldSteer } from '../bulk/steer-many.ts'
import type { DefinedWorkflow } from '../definitions/as-workflow.ts'
import { Catalogue, type DefinitionSummary, type SavedDefinition } from '../definitions/catalogue.ts'
import type { NamedHandler } from '../definitions/define.ts'
import type { StoredVersion } from '../definitions/definition-store.ts'
import type { StepView } from '../definitions/step-states.ts'
import { limitsOfCode } from '../flow/operating/changing-limits.ts'
import { Limits } from '../flow/operating/limits.ts'
import { checkedScope, listPauses, type PauseScope, type PauseView, pause, resume } from '../flow/pauses.ts'
import { hasEnded, type RunStatus } from '../ports/run.ts'
import type { RunCounts, RunPage } from '../ports/run-lists.ts'
import type { World } from '../ports/world.ts'
import type { LiveWorker } from '../tasks/directory.ts'
import { scopeInWords } from '../views/turn.ts'
import type { Why } from '../views/why.ts'
import type { Registry, RunRequest, Signal, Workflow } from '../workflow.ts'
import { Callbacks, type OpenCallback } from './callbacks.ts'
import { eventAt, type HistoryEvent, type HistoryOptions, historyOf } from './history.ts'
import type { AskOptions, ListOptions, RepeatOptions, RunView, StartOptions } from './options.ts'
import { outputOf, type ResultArguments, resultArguments } from './output-of.ts'
import { type RerunOptions, rerun } from './rerunning.ts'
import { notFound, recordOf, retry } from './retrying.ts'
import { keptSignals, queueOf, viewOf } from './run-view.ts'
import type { ScheduleView } from './schedules.ts'
import { Sending } from './sending.ts'
import { settledBy, startAndSettle, untilOf } from './settling.ts'
import { StartedRun } from './started-run.ts'
import { Starting } from './starting.ts'
import type { WorkflowClient } from './workflow-client.ts'

export type { AskOptions, ListOptions, RepeatOptions, RunView, StartOptions } from './options.ts'

/** Starts, watches and steers runs in this process. What each method does, its interface says. */
export class Client implements WorkflowClient {
  readonly world: World
  readonly registry: Registry
  /** Workflows that are not in the code. */
  readonly definitions: Catalogue
  /** What runs ask of the outside, to be shown to people. */
  readonly callbacks: Callbacks
  readonly limits: Limits
  private readonly starting: Starting
  private readonly sending: Sending

  /** `handlers` are what stored definitions may call by name. */
  constructor(world: World, registry: Registry, handlers: readonly NamedHandler[] = []) {
    this.world = world
    this.registry = registry
    this.definitions = new Catalogue(world, registry, handlers)
    this.callbacks = new Callbacks(world, this.definitions)
    this.limits = new Limits(world, (name) => limitsOfCode(registry.all()).get(name))
    this.starting = new Starting(world, this.definitions)
    this.sending = new Sending(world, registry)
  }

  async start<I, O>(
    workflow: Workflow<I, O> | string,
    ...[input, options = {}]: Giving<I, StartOptions>
  ): Promise<StartedRun<O>> {
    const prepared = await this.starting.prepare(workflow, input, options)
    return new StartedRun<O>(this, await this.starting.launch(prepared))
  }

  async startAndSettle<I, O>(
    workflow: Workflow<I, O> | string,
    ...[input, { timeout, ...options } = {}]: Giving<I, StartOptions & { timeout?: Duration }>
  ): Promise<{ run: RunView; created: boolean }> {
    const prepared = await this.starting.prepare(workflow, input, options)
    return startAndSettle(this.world, this.starting, prepared, timeout)
  }

  async get(runId: string): Promise<RunView> {
    const run = await recordOf(this.world, runId)
    const kept =
      run.stimulus > 0 && !(hasEnded(run.status) && run.status !== 'failed')
        ? await keptSignals(this.world, runId)
        : undefined
    const queue = run.status === 'queued' ? await queueOf(this.limits, run) : undefined
    return { ...viewOf(run), ...(kept && { keptSignals: kept }), ...(queue && { queue }) }
  }

  async list(options: ListOptions = {}): Promise<RunPage> {
    const { from, to, limit = 50, hidesInternal = false, ...filter } = options
    if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
      throw new InvalidInputError(`limit must be a whole number from 1 to 1000, got ${limit}`)
    const time = (value: Date | string | number, what: string) => pointInTime(value, Number.POSITIVE_INFINITY, what)
    const page = await this.world.store.list({
      ...filter,
      limit,
      ...(from !== undefined && { from: time(from, "'from'") }),
      ...(to !== undefined && { to: time(to, "'to'") }),
    })
    const isForAll = filter.workflow === undefined && filter.idPrefix === undefined
    return hidesInternal && isForAll
      ? { ...page, runs: page.runs.filter(({ workflow }) => !isInternal(workflow)) }
      : page
  }

  result<O = unknown>(runId: string, options?: { timeout?: Duration }): Promise<O>
  result<O>(workflow: Workflow<never, O>, runId: string, options?: { timeout?: Duration }): Promise<O>
  async result<O>(...asked: ResultArguments): Promise<O> {
    const { workflow, runId, options } = resultArguments(asked)
    return outputOf<O>(await this.settled(runId, options), workflow)
  }

  async settled(runId: string, options: { timeout?: Duration } = {}): Promise<RunView> {
    return settledBy(this.world, runId, untilOf(this.world, `the timeout for run '${runId}'`, options.timeout))
  }

  async history(runId: string, options?: HistoryOptions): Promise<HistoryEvent[]> {
    return historyOf(this.world, await recordOf(this.world, runId), options)
  }

  async event(runId: string, n: string): Promise<HistoryEvent | undefined> {
    return eventAt(this.world, await recordOf(this.world, runId), n)
  }

  async why(runId: string): Promise<Why> {
    // Loaded late: it is asked for where people look, not where runs are run.
    const { explain } = await import('./diagnose-run.ts')
    return explain(this, runId)
  }

  async steps(runId: string): Promise<StepView[]> {
    const run = await recordOf(this.world, runId)
    const workflow = await this.definitions.exact(run.workflow, run.version)
    const definition = (workflow as Partial<DefinedWorkflow>).definition
    if (!definition)
      throw new ConflictError(
        `run '${runId}' is of workflow '${run.workflow}', which is code and has no steps to list; see its history`,
      )
    // Loaded late: it comes with the interpreter.
    const { stepsOf } = await import('../definitions/step-states.ts')
    return stepsOf(definition, run, await this.world.store.frames(runId))
  }

  counts(): Promise<RunCounts> {
    return this.world.store.counts()
  }

  async incidents(filter: IncidentFilter = {}): Promise<Incidents> {
    const { workflow, since } = filter
    return incidentsOf(this.world.store, {
      ...(workflow !== undefined && { workflow }),
      ...(since !== undefined && { since: pastMoment(since, this.world.clock.now(), "'since'") }),
    })
  }

  async signal<In>(
    runId: string,
    signal: Signal<unknown, In> | string,
    ...[payload, options]: Giving<In, RepeatOptions>
  ): Promise<{ accepted: boolean }> {
    return this.sending.signal(runId, signal as Signal<unknown, unknown>, payload, options)
  }

  async ask<In, Out>(
    runId: string,
    request: RunRequest<unknown, In, never, Out> | string,
    ...[payload, options]: Giving<In, AskOptions>
  ): Promise<Out> {
    return this.sending.ask(runId, request as RunRequest<unknown, unknown, never, Out>, payload, options)
  }

  cancel(runId: string, reason?: string, options?: RepeatOptions): Promise<void> {
    return this.sending.cancel(runId, reason, options)
  }

  terminate(runId: string, reason?: string, options?: RepeatOptions): Promise<void> {
    return this.sending.terminate(runId, reason, options)
  }

  retry(runId: string, options: RepeatOptions = {}): Promise<void> {
    return retry(this.world, runId, options)
  }

  rerun(runId: string, options: RerunOptions): Promise<{ runId: string; created: boolean }> {
    return rerun(this.world, runId, options)
  }

  wake(runId: string, options?: RepeatOptions): Promise<void> {
    return this.sending.wake(runId, options)
  }

  async erase(runId: string): Promise<void> {
    const outcome = await this.world.store.erase(runId)
    if (outcome === 'missing') throw notFound(runId)
    if (outcome === 'open') throw new ConflictError(`run '${runId}' has not ended; cancel or terminate it first`)
  }

  async eraseTagged(
    tag: string,
    options: Omit<EraseTagged, 'tag'> & RepeatOptions = {},
  ): Promise<{ runId: string; status: RunStatus }> {
    const { idempotencyKey, ...rest } = options
    checkName('a tag', tag)
    const { runId, status } = await this.start(
      eraseTagged(this.world),
      { tag, ...rest },
      idempotencyKey === undefined ? {} : { idempotencyKey },
    )
    return { runId, status }
  }

  async pause(what: PauseScope): Promise<PauseView> {
    const scope = checkedScope(what)
    // A name that is not known here is misspelt.
    if ('workflow' in scope) await this.definitions.toStart(scope.workflow)
    if ('run' in scope) {
      const state = await this.world.store.state(scope.run)
      if (!state) throw notFound(scope.run)
      if (hasEnded(state.status))
        throw new ConflictError(`run '${scope.run}' has ended (${state.status}): there is nothing left to pause`)
    }
    return pause(this.world, scope)
  }

  async resume(scope: PauseScope, options?: { perSecond?: number }): Promise<PauseView> {
    const checked = checkedScope(scope)
    const resumed = await resume(this.world, checked, options)
    if (!resumed) throw new ConflictError(`${scopeInWords(checked)} is not paused; \`overwinter pauses\` lists what is`)
    return resumed
  }

  pauses(): Promise<PauseView[]> {
    return listPauses(this.world)
  }

  async steerMany(bulk: Bulk, { idempotencyKey }: RepeatOptions = {}): Promise<{ runId: string; status: RunStatus }> {
    checkBulk(bulk)
    const { runId, status } = await this.start(
      steerMany(this.world),
      bulk,
      idempotencyKey === undefined ? {} : { idempotencyKey },
    )
    return { runId, status }
  }

  async wouldSteer(bulk: Bulk): Promise<WouldSteer> {
    checkBulk(bulk)
    return wouldSteer(this.world, bulk)
  }

  listCallbacks(runId: string): Promise<OpenCallback[]> {
    return this.callbacks.open(runId)
  }

  async completeCallback(token: string, result?: unknown, options: RepeatOptions = {}): Promise<void> {
    await this.callbacks.settle(token, () => ({ result, isRepeat: options.idempotencyKey !== undefined }))
  }

  async failCallback(token: string, error: unknown, options: RepeatOptions = {}): Promise<void> {
    await this.callbacks.settle(token, () => ({ error, isRepeat: options.idempotencyKey !== undefined }))
  }

  async heartbeatCallback(token: string): Promise<void> {
    await this.callbacks.heartbeat(token)
  }

  // Schedules and workers are for those who look after runs. A process that runs them loads none of it.

  async listSchedules(): Promise<ScheduleView[]> {
    return (await import('./schedules.ts')).listSchedules(this)
  }

  async pauseSchedule(name: string, options?: RepeatOptions): Promise<void> {
    await (await import('./schedules.ts')).steerSchedule(this, name, 'pause', options)
  }

  async resumeSchedule(name: string, options?: RepeatOptions): Promise<void> {
    await (await import('./schedules.ts')).steerSchedule(this, name, 'resume', options)
  }

  async triggerSchedule(name: string, options?: RepeatOptions): Promise<void> {
    await (await import('./schedules.ts')).steerSchedule(this, name, 'trigger', options)
  }

  async putDefinition(name: string, definition: unknown): Promise<SavedDefinition> {
    return { ...(await this.definitions.save(name, definition)), name }
  }

  async checkDefinition(name: string, definition: unknown): Promise<{ warnings: Problem[] }> {
    const { warnings } = await this.definitions.check(name, definition)
    return { warnings }
  }

  getDefinition(name: string, version?: number): Promise<StoredVersion> {
    return this.definitions.get(name, version)
  }

  listDefinitions(): Promise<DefinitionSummary[]> {
    return this.definitions.list()
  }

  deleteDefinition(name: string): Promise<void> {
    return this.definitions.delete(name)
  }

  async listWorkers(): Promise<LiveWorker[]> {
    const { WorkerDirectory } = await import('../tasks/directory.ts')
    return new WorkerDirectory(this.world).list()
  }
}
