import type { Duration } from '../base/duration.ts'
import type { Problem } from '../base/errors.ts'
import type { Giving } from '../base/storable.ts'
import type { EraseTagged } from '../bulk/erase-tagged.ts'
import type { IncidentFilter, Incidents } from '../bulk/incidents.ts'
import type { Bulk, WouldSteer } from '../bulk/steer-many.ts'
import type { DefinitionSummary, SavedDefinition } from '../definitions/catalogue.ts'
import type { StoredVersion } from '../definitions/definition-store.ts'
import type { StepView } from '../definitions/step-states.ts'
import type { LimitOptions } from '../flow/limiter/limit.ts'
import type { LimitView } from '../flow/operating/limits.ts'
import type { PauseScope, PauseView } from '../flow/pauses.ts'
import type { RunStatus } from '../ports/run.ts'
import type { RunCounts, RunPage } from '../ports/run-lists.ts'
import type { LiveWorker } from '../tasks/directory.ts'
import type { Why } from '../views/why.ts'
import type { RunRequest, Signal, Workflow } from '../workflow.ts'
import type { OpenCallback } from './callbacks.ts'
import type { HistoryEvent, HistoryOptions } from './history.ts'
import type { AskOptions, ListOptions, RepeatOptions, RunView, StartOptions } from './options.ts'
import type { RerunOptions } from './rerunning.ts'
import type { ScheduleView } from './schedules.ts'
import type { StartedRun } from './started-run.ts'

/**
 * Starts, watches and steers runs. `Client` does it in this process, `OverwinterClient` over HTTP: with the
 * same methods, the same answers and the same errors. `test/client/contract.ts` holds both to it.
 */
export interface WorkflowClient
  extends RunStarter,
    RunReader,
    RunSteerer,
    CallbackClient,
    ScheduleClient,
    DefinitionClient,
    WorkerClient {
  /** Limits while they are in use. */
  readonly limits: LimitClient
}

export interface RunStarter {
  /** The same id and input again give the first run; the same id with another input is a conflict. */
  start<I, O>(workflow: Workflow<I, O> | string, ...[input, options]: Giving<I, StartOptions>): Promise<StartedRun<O>>
  /** Starts a run and gives it back once it has ended or is stuck, or as it stands when the timeout has passed. */
  startAndSettle<I, O>(
    workflow: Workflow<I, O> | string,
    ...[input, options]: Giving<I, StartOptions & { timeout?: Duration }>
  ): Promise<{ run: RunView; created: boolean }>
}

export interface RunReader {
  get(runId: string): Promise<RunView>
  /**
   * Newest first, and without payloads. A page may be short, or even empty, and still have a cursor: no more
   * is read for one than is reasonable.
   */
  list(options?: ListOptions): Promise<RunPage>
  /**
   * The output, once there is one. Rejects when the run ends otherwise or is stuck, and with a TimeoutError
   * when it takes too long.
   */
  result<O = unknown>(runId: string, options?: { timeout?: Duration }): Promise<O>
  /**
   * The same, with the type of what the workflow returns. Rejects with a ConflictError when the run is of
   * another workflow.
   */
  result<O>(workflow: Workflow<never, O>, runId: string, options?: { timeout?: Duration }): Promise<O>
  /** The run as soon as it has ended or is stuck, or as it stands when the timeout has passed. */
  settled(runId: string, options?: { timeout?: Duration }): Promise<RunView>
  /**
   * What happened in the run since it began, or began anew. With `after`, only what came behind that event's
   * `n`.
   */
  history(runId: string, options?: HistoryOptions): Promise<HistoryEvent[]>
  /** One line of the history, by its `n`; undefined where there is none. */
  event(runId: string, n: string): Promise<HistoryEvent | undefined>
  /** Why the run stands where it stands, in words, and what can be done about it. */
  why(runId: string): Promise<Why>
  /** Where each step of a run of a definition stands. */
  steps(runId: string): Promise<StepView[]>
  /** How many runs are in each state. On AWS only those in trouble are counted, up to 1,000. */
  counts(): Promise<RunCounts>
  /** Failures, by what they have in common. `since`: only of runs that failed or got stuck from then on. */
  incidents(filter?: IncidentFilter): Promise<Incidents>
}

export interface RunSteerer {
  /** Kept until the run waits for it. With an idempotency key, a repeat is recognised and changes nothing. */
  signal<In>(
    runId: string,
    signal: Signal<unknown, In> | string,
    ...[payload, options]: Giving<In, RepeatOptions>
  ): Promise<{ accepted: boolean }>
  /**
   * Sends a request and gives what the run replies, once the run gets to it. Rejects with a RequestRefusedError when it
   * refuses, with a ConflictError when it ends without a reply, and with a TimeoutError when it takes too long.
   */
  ask<In, Out>(
    runId: string,
    request: RunRequest<unknown, In, never, Out> | string,
    ...[payload, options]: Giving<In, AskOptions>
  ): Promise<Out>
  /**
   * Asks the run to stop: its waits reject with a CancelledError and its clean-up runs. Asked again, what it
   * waits for since then rejects too.
   */
  cancel(runId: string, reason?: string, options?: RepeatOptions): Promise<void>
  /**
   * Ends the run at once. No code of it runs any more, clean-up included. A run that was terminated before is
   * a conflict, unless the call has a key. Over HTTP each call has one, so there it is none.
   */
  terminate(runId: string, reason?: string, options?: RepeatOptions): Promise<void>
  /** Continues a failed run from the step that failed, or tries a stuck one again. */
  retry(runId: string, options?: RepeatOptions): Promise<void>
  /**
   * A new run of the same workflow and input that takes over the journal up to, and without, the given step.
   * Without a step it begins at its beginning.
   */
  rerun(runId: string, options: RerunOptions): Promise<{ runId: string; created: boolean }>
  /** Ends the sleeps the run is in, or tries a stuck run again. */
  wake(runId: string, options?: RepeatOptions): Promise<void>
  /**
   * Removes everything that is stored of a run that has ended: input, output, journal, signals, tasks,
   * payloads. Its id is free again. What others were told of it, a parent of its child's result for example,
   * is theirs.
   */
  erase(runId: string): Promise<void>
  /**
   * Starts a run that erases all runs with a tag, however many, and gives its id: its result says how many
   * there were. Those that have not ended stay as they are, unless they are to be terminated.
   */
  eraseTagged(
    tag: string,
    options?: Omit<EraseTagged, 'tag'> & RepeatOptions,
  ): Promise<{ runId: string; status: RunStatus }>
  /** Lets nothing new begin: new runs and those that wake up are queued, running steps end. */
  pause(scope: PauseScope): Promise<PauseView>
  /**
   * Lets what is paused go on, the oldest and those of the highest priority first; by default 100 runs a
   * second.
   */
  resume(scope: PauseScope, options?: { perSecond?: number }): Promise<PauseView>
  /** What is paused. */
  pauses(): Promise<PauseView[]>
  /**
   * Starts a run that does something to many runs, each once, and gives its id: its progress and its result
   * say how many there were.
   */
  steerMany(bulk: Bulk, options?: RepeatOptions): Promise<{ runId: string; status: RunStatus }>
  /** How many runs `steerMany` would do it to, and some of them. */
  wouldSteer(bulk: Bulk): Promise<WouldSteer>
}

export interface CallbackClient {
  /** The callbacks of a run that can be answered now, each with its token. */
  listCallbacks(runId: string): Promise<OpenCallback[]>
  /**
   * Refused with a GoneError when it comes too late, and with a MisfitError when it does not fit the
   * callback's schema.
   */
  completeCallback(token: string, result?: unknown, options?: RepeatOptions): Promise<void>
  failCallback(token: string, error: unknown, options?: RepeatOptions): Promise<void>
  /** A sign of life from the party that is to settle it, where the callback has a heartbeatTimeout. */
  heartbeatCallback(token: string): Promise<void>
}

export interface LimitClient {
  /** By name. */
  list(): Promise<LimitView[]>
  get(name: string): Promise<LimitView>
  /** Other numbers than the code's, until `reset`. What is not given stays as it is. */
  set(name: string, options: LimitOptions): Promise<LimitView>
  /** The code's numbers count again. */
  reset(name: string): Promise<LimitView>
  /** Lets nothing in. What is inside stays there. */
  pause(name: string): Promise<LimitView>
  resume(name: string): Promise<LimitView>
}

export interface ScheduleClient {
  /** By name, each with when it is due next. */
  listSchedules(): Promise<ScheduleView[]>
  pauseSchedule(name: string, options?: RepeatOptions): Promise<void>
  resumeSchedule(name: string, options?: RepeatOptions): Promise<void>
  /** Starts a run now, whatever the plan says. */
  triggerSchedule(name: string, options?: RepeatOptions): Promise<void>
}

export interface DefinitionClient {
  /** A new version, unless the latest one says the same. A name that is not in the definition is given to it. */
  putDefinition(name: string, definition: unknown): Promise<SavedDefinition>
  /** What `putDefinition` would say, without saving. */
  checkDefinition(name: string, definition: unknown): Promise<{ warnings: Problem[] }>
  getDefinition(name: string, version?: number): Promise<StoredVersion>
  listDefinitions(): Promise<DefinitionSummary[]>
  /** Refused while runs of it are alive. */
  deleteDefinition(name: string): Promise<void>
}

export interface WorkerClient {
  /** The workers that have given a sign of life in the last minute. */
  listWorkers(): Promise<LiveWorker[]>
}
