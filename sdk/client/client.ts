import { type Duration, milliseconds, pastMoment, pointInTime } from '../base/duration.ts'
import { ConflictError, InvalidInputError } from '../base/errors.ts'
import type { JournalEvent } from '../base/events.ts'
import { checkName, isInternal, keyedMessageId } from '../base/names.ts'
import { OWN_KEY } from '../base/own-key.ts'
import { validateOrThrow } from '../base/schema.ts'
import type { Giving } from '../base/storable.ts'
import { encode } from '../base/values.ts'
import { checkBulk } from '../bulk/check-bulk.ts'
import { type EraseTagged, eraseTagged } from '../bulk/erase-tagged.ts'
import { type IncidentFilter, type Incidents, incidentsOf } from '../bulk/incidents.ts'
import { type Bulk, steerMany, type WouldSteer, wouldSteer } from '../bulk/steer-many.ts'
import type { DefinedWorkflow } from '../definitions/as-workflow.ts'
import { Catalogue } from '../definitions/catalogue.ts'
import type { NamedHandler } from '../definitions/define.ts'
import type { StepView } from '../definitions/step-states.ts'
import { limitsOfCode } from '../flow/operating/changing-limits.ts'
import { Limits } from '../flow/operating/limits.ts'
import { checkedScope, listPauses, type PauseScope, type PauseView, pause, resume } from '../flow/pauses.ts'
import { hasEnded, type Message, type RunRecord, type RunState, type RunStatus } from '../ports/run.ts'
import type { RunCounts, RunPage } from '../ports/run-lists.ts'
import type { World } from '../ports/world.ts'
import { scopeInWords } from '../views/turn.ts'
import type { Why } from '../views/why.ts'
import type { Registry, RunRequest, Signal, Workflow } from '../workflow.ts'
import { awaitReply } from './await-reply.ts'
import { Callbacks, type OpenCallback } from './callbacks.ts'
import { refuseUndeclared } from './declared-signals.ts'
import { eventAt, type HistoryEvent, type HistoryOptions, historyOf } from './history.ts'
import { outputOf, type ResultArguments, resultArguments } from './output-of.ts'
import { contentOf } from './reply-content.ts'
import { type RerunOptions, rerun } from './rerunning.ts'
import { journalHas, notFound, recordOf, retry, reviveStuck } from './retrying.ts'
import { nextChange } from './run-changes.ts'
import { keptSignals, type QueueView, queueOf, viewOf } from './run-view.ts'
import { StartedRun } from './started-run.ts'
import { Starting } from './starting.ts'

/** What `get` shows of a run. */
export interface RunView
  extends Omit<
    RunRecord,
    'id' | 'secret' | 'epoch' | 'stimulus' | 'baseSeq' | 'format' | 'parsed' | 'reparse' | 'admission' | 'passed'
  > {
  runId: string
  /** Where what it has logged can be read: a link to CloudWatch. Only a deployed API tells. */
  logs?: string
  /** Signals that were sent to the run and that it has not waited for so far: how many of each name. Only `get` tells. */
  keptSignals?: Record<string, number>
  /** Of a queued run: what it is queued for. Only `get` tells. */
  queue?: QueueView
  /** When it got stuck, if it is. */
  stuckAt?: number
}

export interface ListOptions {
  workflow?: string
  status?: RunStatus
  tag?: string
  /** What its id begins with. */
  idPrefix?: string
  from?: Date | string | number
  to?: Date | string | number
  cursor?: string
  /** 1 to 1,000. Default 50. */
  limit?: number
  /** Leaves out what Overwinter itself runs, schedules for example, unless a workflow or an id is asked for. */
  hidesInternal?: boolean
}

export interface StartOptions {
  /** Chosen by the caller; makes starting idempotent. */
  id?: string
  /** Like `id`, for callers that have a key but not an id: the same key and workflow give the same run. */
  idempotencyKey?: string
  startAt?: Date | string | number
  delay?: Duration
  tags?: string[]
  /** The W3C `traceparent` of whoever starts it, which the run's trace is linked to. What is none is ignored. */
  traceparent?: string
}

export interface RepeatOptions {
  /** Says that this may be a repeat: what was already done under the key is not done again, and is no conflict. */
  idempotencyKey?: string
}

export interface AskOptions extends RepeatOptions {
  /** How long to wait for the reply. */
  timeout?: Duration
}

/** Starts, watches and steers runs. */
export class Client {
  readonly world: World
  readonly registry: Registry
  /** Workflows that are not in the code. */
  readonly definitions: Catalogue
  /** What runs ask of the outside, for whoever shows it to people. */
  readonly callbacks: Callbacks
  /** Limits while they are in use. */
  readonly limits: Limits
  private readonly starting: Starting

  /** `handlers` are what stored definitions may call by name. */
  constructor(world: World, registry: Registry, handlers: readonly NamedHandler[] = []) {
    this.world = world
    this.registry = registry
    this.definitions = new Catalogue(world, registry, handlers)
    this.callbacks = new Callbacks(world, this.definitions)
    this.limits = new Limits(world, (name) => limitsOfCode(registry.all()).get(name))
    this.starting = new Starting(world, this.definitions)
  }

  /** The same id and input again give the first run; the same id with another input is a conflict. */
  async start<I, O>(
    workflow: Workflow<I, O> | string,
    ...[input, options = {}]: Giving<I, StartOptions>
  ): Promise<StartedRun<O>> {
    const prepared = await this.starting.prepare(workflow, input, options)
    return new StartedRun<O>(this, await this.starting.launch(prepared))
  }

  /** Starts a run and gives it back once it has ended or is stuck, or as it stands when the timeout has passed. */
  async startAndSettle<I, O>(
    workflow: Workflow<I, O> | string,
    ...[input, { timeout, ...options } = {}]: Giving<I, StartOptions & { timeout?: Duration }>
  ): Promise<{ run: RunView; created: boolean }> {
    const prepared = await this.starting.prepare(workflow, input, options)
    const { run } = prepared
    const until = this.until(run.id, timeout)
    // Watching from before it is there, so that there is no need to look before something happens.
    const change = nextChange(this.world, run.id, until)
    try {
      const { runId, created, handedOver } = await this.starting.launch(prepared, until)
      // Whichever is first: a runner that cannot be reached must not keep anybody from a result that is there.
      // A run that several starts become has an id of its own.
      if (created && runId === run.id) await Promise.race([change.promise, ...(handedOver ? [handedOver] : [])])
      return { run: await this.settledBy(runId, until), created }
    } finally {
      change.cancel()
    }
  }

  async get(runId: string): Promise<RunView> {
    const run = await this.record(runId)
    const kept =
      run.stimulus > 0 && !(hasEnded(run.status) && run.status !== 'failed')
        ? await keptSignals(this.world, runId)
        : undefined
    const queue = run.status === 'queued' ? await queueOf(this.limits, run) : undefined
    return { ...viewOf(run), ...(kept && { keptSignals: kept }), ...(queue && { queue }) }
  }

  /** Newest first, and without payloads. A page may be short, or even empty, and still have a cursor: no more is read for one than is reasonable. */
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

  /** The output, once there is one. Rejects when the run ends otherwise or is stuck, and with a TimeoutError when it takes too long. */
  result<O = unknown>(runId: string, options?: { timeout?: Duration }): Promise<O>
  /** The same, with the type of what the workflow returns. Rejects with a ConflictError when the run is of another workflow. */
  result<O>(workflow: Workflow<never, O>, runId: string, options?: { timeout?: Duration }): Promise<O>
  async result<O>(...asked: ResultArguments): Promise<O> {
    const { workflow, runId, options } = resultArguments(asked)
    return outputOf<O>(await this.settled(runId, options), workflow)
  }

  /** The run as soon as it has ended or is stuck, or as it stands when the timeout has passed. */
  async settled(runId: string, options: { timeout?: Duration } = {}): Promise<RunView> {
    return this.settledBy(runId, this.until(runId, options.timeout))
  }

  private until(runId: string, timeout: Duration | undefined): number {
    return timeout === undefined
      ? Number.POSITIVE_INFINITY
      : this.world.clock.now() + milliseconds(timeout, `the timeout for run '${runId}'`)
  }

  private async settledBy(runId: string, until: number): Promise<RunView> {
    const { clock } = this.world
    for (;;) {
      // Watching begins before reading, or a change between the two would be missed.
      const change = nextChange(this.world, runId, until)
      const run = await this.record(runId).catch((error: unknown) => {
        change.cancel()
        throw error
      })
      if (hasEnded(run.status) || run.status === 'stuck' || clock.now() >= until) {
        change.cancel()
        return viewOf(run)
      }
      await change.promise
    }
  }

  /** What happened in the run since it began, or began anew. With `after`, only what came behind that event's `n`. */
  async history(runId: string, options?: HistoryOptions): Promise<HistoryEvent[]> {
    return historyOf(this.world, await this.record(runId), options)
  }

  /** One line of the history, by its `n`; undefined where there is none. */
  async event(runId: string, n: string): Promise<HistoryEvent | undefined> {
    return eventAt(this.world, await this.record(runId), n)
  }

  /** Why the run stands where it stands, in words, and what can be done about it. */
  async why(runId: string): Promise<Why> {
    // Loaded late: it is asked for where people look, not where runs are run.
    const { explain } = await import('./diagnose-run.ts')
    return explain(this, runId)
  }

  /** Where each step of a run of a definition stands. */
  async steps(runId: string): Promise<StepView[]> {
    const run = await this.record(runId)
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

  /** Kept until the run waits for it. With an idempotency key, a repeat is recognised and changes nothing. */
  async signal<In>(
    runId: string,
    signal: Signal<unknown, In> | string,
    ...[payload, options = {}]: Giving<In, RepeatOptions>
  ): Promise<{ accepted: boolean }> {
    const name = typeof signal === 'string' ? signal : signal.name
    checkName('a signal name', name)
    if (typeof signal !== 'string') await validateOrThrow(signal.schema, payload, `the payload of signal '${name}'`)
    const kept = encode(payload, `the payload of signal '${name}'`)
    const id = this.messageId('signal', options, name)
    return this.deliver(
      runId,
      { id, kind: 'signal', name, ...(kept !== undefined && { payload: kept }) },
      options,
      (run) => refuseUndeclared(this.registry, run, { kind: 'signal', name, payload: kept }),
    )
  }

  /**
   * Sends a request and gives what the run replies, once the run gets to it. Rejects with a RequestRefusedError when it refuses, with a ConflictError when it ends without a reply,
   * and with a TimeoutError when it takes too long.
   */
  async ask<In, Out>(
    runId: string,
    request: RunRequest<unknown, In, never, Out> | string,
    ...[payload, options = {}]: Giving<In, AskOptions>
  ): Promise<Out> {
    const name = typeof request === 'string' ? request : request.name
    checkName('a request name', name)
    if (typeof request !== 'string') await validateOrThrow(request.schema, payload, `the payload of request '${name}'`)
    const kept = encode(payload, `the payload of request '${name}'`)
    const { idempotencyKey = `${OWN_KEY}${this.world.ids.messageId()}` } = options
    const messageId = this.messageId('ask', { idempotencyKey }, name)
    const until = this.until(runId, options.timeout)
    // Asked again, it may have its reply, and the run its end.
    const isKnown =
      options.idempotencyKey !== undefined && (await this.world.store.reply(runId, messageId)) !== undefined
    const message: Message = {
      id: messageId,
      kind: 'signal',
      name,
      ...(kept !== undefined && { payload: kept }),
      asks: true,
    }
    if (!isKnown)
      await this.deliver(runId, message, options, (run) =>
        refuseUndeclared(this.registry, run, { kind: 'request', name, payload: kept }),
      )
    const question = { runId, request: name, idempotencyKey }
    return contentOf(await awaitReply(this.world, question, messageId, until), question) as Out
  }

  private messageId(
    kind: Parameters<typeof keyedMessageId>[0],
    { idempotencyKey }: RepeatOptions,
    of?: string,
  ): string {
    if (idempotencyKey === undefined) return this.world.ids.messageId()
    checkName('an idempotency key', idempotencyKey)
    return keyedMessageId(kind, idempotencyKey, of)
  }

  /** Asks the run to stop: its waits reject with a CancelledError and its clean-up runs. Asked again, what it waits for since then rejects too. */
  async cancel(runId: string, reason?: string, options: RepeatOptions = {}): Promise<void> {
    const id = this.messageId('cancel', options)
    await this.deliver(runId, { id, kind: 'cancel', ...(reason !== undefined && { reason }) }, options)
  }

  /** Ends the run at once. No code of it runs any more, clean-up included. */
  async terminate(runId: string, reason = 'terminated by request', options: RepeatOptions = {}): Promise<void> {
    const { ended, wakes } = await this.world.store.terminate(runId, reason)
    await this.world.wakeups.send(wakes)
    if (ended) return
    const run = await this.record(runId)
    if (run.status !== 'terminated' || options.idempotencyKey === undefined) throw this.alreadyEnded(run)
  }

  /** Continues a failed run from the step that failed, or tries a stuck one again. */
  retry(runId: string, options: RepeatOptions = {}): Promise<void> {
    return retry(this.world, runId, options)
  }

  /** A new run of the same workflow and input that takes over the journal up to, and without, the given step. */
  rerun(runId: string, options: RerunOptions): Promise<{ runId: string; created: boolean }> {
    return rerun(this.world, runId, options)
  }

  /**
   * Removes everything that is stored of a run that has ended: input, output, journal, signals, tasks, payloads. Its id is free again. What others
   * were told of it, a parent of its child's result for example, is theirs.
   */
  async erase(runId: string): Promise<void> {
    const outcome = await this.world.store.erase(runId)
    if (outcome === 'missing') throw notFound(runId)
    if (outcome === 'open') throw new ConflictError(`run '${runId}' has not ended; cancel or terminate it first`)
  }

  /**
   * Starts a run that erases all runs with a tag, however many, and gives its id: its result says how many there were. Those that have not ended stay as they
   * are, unless they are to be terminated.
   */
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

  /** Lets nothing new begin: new runs and those that wake up are queued, running steps end. */
  async pause(what: PauseScope): Promise<PauseView> {
    const scope = checkedScope(what)
    // One that nobody knows is misspelt.
    if ('workflow' in scope) await this.definitions.toStart(scope.workflow)
    if ('run' in scope) {
      const state = await this.world.store.state(scope.run)
      if (!state) throw notFound(scope.run)
      if (hasEnded(state.status))
        throw new ConflictError(`run '${scope.run}' has ended (${state.status}): there is nothing left to pause`)
    }
    return pause(this.world, scope)
  }

  /** Lets what is paused go on, the oldest and those of the highest priority first; by default 100 runs a second. */
  async resume(scope: PauseScope, options?: { perSecond?: number }): Promise<PauseView> {
    const checked = checkedScope(scope)
    const resumed = await resume(this.world, checked, options)
    if (!resumed) throw new ConflictError(`${scopeInWords(checked)} is not paused; \`overwinter pauses\` lists what is`)
    return resumed
  }

  /** What is paused. */
  pauses(): Promise<PauseView[]> {
    return listPauses(this.world)
  }

  /** How many runs are in each state. On AWS only those in trouble are counted, up to 1,000. */
  counts(): Promise<RunCounts> {
    return this.world.store.counts()
  }

  /** Failures, by what they have in common. `since`: only of runs that failed or got stuck from then on. */
  incidents(filter: IncidentFilter = {}): Promise<Incidents> {
    const { workflow, since } = filter
    return incidentsOf(this.world.store, {
      ...(workflow !== undefined && { workflow }),
      ...(since !== undefined && { since: pastMoment(since, this.world.clock.now(), "'since'") }),
    })
  }

  /** Starts a run that does something to many runs, each once, and gives its id: its progress and its result say how many there were. */
  async steerMany(bulk: Bulk, { idempotencyKey }: RepeatOptions = {}): Promise<{ runId: string; status: RunStatus }> {
    checkBulk(bulk)
    const { runId, status } = await this.start(
      steerMany(this.world),
      bulk,
      idempotencyKey === undefined ? {} : { idempotencyKey },
    )
    return { runId, status }
  }

  /** How many runs `steerMany` would do it to, and some of them. */
  async wouldSteer(bulk: Bulk): Promise<WouldSteer> {
    checkBulk(bulk)
    return wouldSteer(this.world, bulk)
  }

  /** Ends the sleeps the run is in, or tries a stuck run again. */
  async wake(runId: string, options: RepeatOptions = {}): Promise<void> {
    const run = await this.record(runId)
    if (run.status === 'stuck') return reviveStuck(this.world, runId)
    const isQueued = run.status === 'queued' && !run.waitingFor?.length
    if (run.status === 'pending' || isQueued) {
      const why = isQueued
        ? 'waits for its turn'
        : run.startedAt === undefined
          ? 'has not started yet'
          : 'is about to begin anew'
      throw new ConflictError(`run '${runId}' ${why}, so there is no sleep to skip`)
    }
    const id = this.messageId('wake', options)
    await this.deliver(runId, { id, kind: 'wake' }, options)
  }

  /** The callbacks of a run that can be answered now, each with its token. */
  listCallbacks(runId: string): Promise<OpenCallback[]> {
    return this.callbacks.open(runId)
  }

  /** Refused with a GoneError when it comes too late, and with a MisfitError when it does not fit the callback's schema. */
  async completeCallback(token: string, result?: unknown, options: RepeatOptions = {}): Promise<void> {
    await this.callbacks.settle(token, () => ({ result, isRepeat: options.idempotencyKey !== undefined }))
  }

  async failCallback(token: string, error: unknown, options: RepeatOptions = {}): Promise<void> {
    await this.callbacks.settle(token, () => ({ error, isRepeat: options.idempotencyKey !== undefined }))
  }

  /** A sign of life from whoever is about to settle it, where the callback has a heartbeatTimeout. */
  async heartbeatCallback(token: string): Promise<void> {
    await this.callbacks.heartbeat(token)
  }

  private async deliver(
    runId: string,
    message: Message,
    options: RepeatOptions,
    refuse?: (run: RunState) => void,
  ): Promise<{ accepted: boolean }> {
    const { outcome, wakes } = await this.world.store.deliver(runId, message, refuse)
    if (outcome === 'missing') throw notFound(runId)
    if (outcome === 'ended') {
      // The first delivery may be what ended the run.
      const isRepeat =
        options.idempotencyKey !== undefined &&
        (await journalHas(this.world, runId, (event) => cameFrom(event) === message.id))
      if (!isRepeat) throw this.alreadyEnded(await this.record(runId))
    }
    await this.world.wakeups.send(wakes)
    return { accepted: outcome === 'accepted' }
  }

  private record(runId: string): Promise<RunRecord> {
    return recordOf(this.world, runId)
  }

  private alreadyEnded(run: RunRecord): ConflictError {
    return new ConflictError(`run '${run.id}' has already ended (${run.status})`)
  }
}

/** The message that an event took over, if it is of that kind. */
function cameFrom(event: JournalEvent): string | undefined {
  return event.type === 'sleep.completed' ? event.skippedBy : 'from' in event ? event.from : undefined
}
