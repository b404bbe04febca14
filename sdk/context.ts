import type { Duration } from './base/duration.ts'
import type { OnParentEnd } from './base/events.ts'
import type { Schema } from './base/schema.ts'
import type { Giving, IfStorable } from './base/storable.ts'
import type { RetryPolicy } from './engine/retry.ts'
import type { Limit } from './flow/limiter/limit.ts'
import type { AnyRequest, AnySignal, Workflow } from './workflow.ts'

/**
 * The interface of workflow code. A replay repeats every operation from the journal. `I` is the workflow's
 * input, for `continueAsNew`.
 */
// biome-ignore lint/suspicious/noExplicitAny: a function that takes a context takes that of any workflow
export interface Context<I = any> {
  /**
   * Runs `body` once and journals its result. It runs again, with the same idempotency key, only after a
   * failure or a crash.
   */
  step<T>(
    name: string,
    body: ((step: StepTools) => T | Promise<T>) & IfStorable<NoInfer<T>>,
    options?: StepOptions,
  ): Promise<T>

  /** Calls another function — on AWS, a Lambda function by name or ARN — as a step. The idempotency key goes along. */
  invoke<T = unknown>(functionName: string, payload?: unknown, options?: InvokeOptions): Promise<T>

  /**
   * Dispatches a task to an external worker (any language, any machine) over HTTP. The waiting run uses no
   * compute.
   */
  task<T = unknown>(type: string, input?: unknown, options?: TaskOptions): Promise<T>

  /** Waits a second or a year, without using compute. */
  sleep(duration: Duration): Promise<void>
  sleep(name: string, duration: Duration): Promise<void>
  sleepUntil(date: Date | string | number): Promise<void>
  sleepUntil(name: string, date: Date | string | number): Promise<void>

  /**
   * The next request of this name, in the order they were sent. The asker waits for `reply`; `undefined` if
   * the timeout passes first.
   */
  waitFor<P, R>(request: AnyRequest<P, R>, options: WaitOptions & Deadline): Promise<Asked<P, R> | undefined>
  waitFor<P, R>(request: AnyRequest<P, R>, options?: WaitOptions): Promise<Asked<P, R>>
  /**
   * The payload of the oldest unconsumed signal of this name, even if it was sent before the wait. `true` for
   * a signal without a payload; `undefined` only when the timeout passes first.
   */
  waitFor<T>(signal: AnySignal<T>, options: WaitOptions & Deadline): Promise<Received<T> | undefined>
  waitFor<T>(signal: AnySignal<T>, options?: WaitOptions): Promise<Received<T>>

  /**
   * Repeats `check` until it returns a truthy value, and returns that. Uses no compute between rounds, and
   * rounds do not grow the journal. When a `timeout` has passed, it checks once more; `undefined` if that
   * fails too.
   */
  until<T>(
    name: string,
    check: (round: CheckTools) => T | Promise<T>,
    options: UntilOptions & { timeout: Duration },
  ): Promise<Truthy<T> | undefined>
  until<T>(name: string, check: (round: CheckTools) => T | Promise<T>, options: UntilOptions): Promise<Truthy<T>>

  /** A link to hand out; `promise` settles when an answer arrives. It rejects with a TimeoutError after `timeout`. */
  callback(name: string, options: RawCallbackOptions): Callback<RawRequest>
  callback<T = unknown>(name: string, options?: CallbackOptions<T>): Callback<T>

  /** Runs another workflow as a run of its own. */
  run<C, O>(child: Workflow<C, O>, input: C, options: ChildOptions & { detached: true }): Promise<{ runId: string }>
  run<C, O>(child: Workflow<C, O>, ...given: Giving<C, ChildOptions>): Promise<O>

  /** A named branch: operations inside have identities of their own, independent of other branches. */
  scope<T>(name: string, body: (ctx: Context<I>) => Promise<T>): Promise<T>
  /**
   * Returns the branch that ends first, even if it fails; with `need`, the first so many. The others are
   * withdrawn: their waits, timers, children and tasks are cancelled, the signals of their steps are aborted,
   * and their results are discarded. Each branch must use the context it is given.
   */
  race<B extends Branches>(name: string, branches: B, options: RaceOptions & { need: number }): Promise<Winner<B>[]>
  race<B extends Branches>(name: string, branches: B, options?: RaceOptions): Promise<Winner<B>>
  /**
   * Runs one scope per item, at most `concurrency` at a time. The first failure fails the map. With `need` or
   * `tolerate` it returns an outcome instead, whatever happens; items still running when it is decided are
   * withdrawn, as the losers of a race are.
   */
  map<T, O>(
    name: string,
    items: readonly T[],
    body: MapBody<T, O>,
    options: MapOptions<T> & ({ need: number } | { tolerate: Tolerance }),
  ): Promise<MapOutcome<O>>
  map<T, O>(name: string, items: readonly T[], body: MapBody<T, O>, options?: MapOptions<T>): Promise<O[]>

  /** Registers an undo. If the run fails or is cancelled, undos run as steps, last registered first. */
  compensate(name: string, undo: (step: StepTools) => unknown, options?: StepOptions): void

  /**
   * Ends this generation and starts the next one with a fresh journal, under the same run id. The input has
   * the type that callers pass.
   */
  continueAsNew(...given: Giving<I, never>): Promise<never>
  /** True for code that is new to this run, false for a run that had already passed this point without it. */
  patched(id: string): boolean

  /** Epoch milliseconds of the last event of the run: the same on every replay. */
  now(): number
  random(): number
  uuid(): string

  /** Readable from outside while the run goes on. */
  progress(value: unknown): void
  /** Silent on replay. */
  readonly log: Logger
  readonly info: RunInfo
}

export interface RunInfo {
  readonly runId: string
  readonly workflow: string
  readonly version: number
  readonly tags: readonly string[]
  /** The attempt under the workflow's own retry policy, from 1. */
  readonly attempt: number
  /** How often the run has continued as new. */
  readonly generation: number
}

export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

export interface StepTools {
  /** From 1. */
  readonly attempt: number
  /** The same on every attempt of this step. Give it to services that deduplicate. */
  readonly idempotencyKey: string
  /** Aborted on timeout, on cancellation and when the runner has to stop. */
  readonly signal: AbortSignal
  /** Sends a heartbeat with details that are visible outside, and throws once the step has been aborted. */
  heartbeat(details?: unknown): void
  /** Durable when the promise resolves; the next attempt finds it in `lastCheckpoint`. */
  checkpoint(data: unknown): Promise<void>
  /** The data of the last `checkpoint` or `pause` of this step. */
  readonly lastCheckpoint: unknown
  /**
   * Releases the run for a while, then runs the same body again with `data` as `lastCheckpoint`. Code after
   * it does not run.
   */
  pause(name: string, duration: Duration, data?: unknown): Promise<never>
}

export interface StepOptions {
  retry?: RetryPolicy
  /** Per attempt. Aborts the signal and counts as a failed attempt. */
  timeout?: Duration
  /** `at-most-once` journals the attempt before it runs; an interrupted one fails with a StepInterruptedError. Default `at-least-once`. */
  semantics?: 'at-least-once' | 'at-most-once'
  /**
   * The limit that must grant a permit first: the step queues without using compute. With `.for(key)`, the
   * limit of that key.
   */
  limit?: Limit
  /** How many units of the limit's rate it takes; a function is given `input`. Default 1. */
  // biome-ignore lint/suspicious/noExplicitAny: it is given whatever `input` is
  cost?: number | ((input: any) => number)
  /**
   * The data that the body works with. A digest is journaled with the result. If the code later has another
   * digest for this step, the run is parked.
   */
  input?: unknown
}

export interface InvokeOptions extends StepOptions {
  /** The step's name. Defaults to the function's. */
  name?: string
}

export interface TaskOptions {
  /** The step's name. Defaults to the task's type. */
  name?: string
  retry?: Omit<RetryPolicy, 'retryIf'>
  /**
   * Per attempt, from when a worker takes it. A worker that takes longer loses it, which counts as a failed
   * attempt.
   */
  timeout?: Duration
  /** A worker without a heartbeat for this long loses the task. Default: `timeout`, or 5 minutes. */
  heartbeatTimeout?: Duration
  /** How often a worker may ask for one more iteration (`continue`). Default 100. */
  maxIterations?: number
  /**
   * The limit that must grant a permit before the task is dispatched. The permit is held until the task has
   * ended.
   */
  limit?: Limit
  /** How many units of the limit's rate it takes; a function is given the task's input. Default 1. */
  // biome-ignore lint/suspicious/noExplicitAny: it is given whatever the input is
  cost?: number | ((input: any) => number)
}

export interface WaitOptions {
  /** How long to wait. */
  timeout?: Duration
  /** Until when to wait, as a Date or milliseconds since 1970: instead of `timeout`. The wait ends at once if it has passed. */
  until?: Date | number
}

/** A wait that ends without its signal, and then gives `undefined`. */
type Deadline = { timeout: Duration } | { until: Date | number }

/**
 * The result of a wait for a signal. A signal without a payload gives `true`, because `undefined` means the
 * timeout.
 */
export type Received<T> = undefined extends T ? Exclude<T, undefined> | true : T

/** A request that the run has received. The asker gets the first reply, once it is in the journal. */
export interface Asked<P, R> {
  readonly payload: P
  reply(...given: undefined extends R ? [value?: R] : [value: R]): void
  /** The asker gets a RequestRefusedError with this as its cause. */
  refuse(reason: unknown): void
}

export interface UntilOptions {
  /** The time between two rounds. */
  every: Duration
  /** Makes each pause longer than the one before. */
  backoff?: {
    /** By how much. Default 2. */
    factor?: number
    /** The longest. Default: an hour, or `every` where that is longer. */
    max?: Duration
  }
  timeout?: Duration
  /**
   * What happens when a round throws. `attempts` counts failures in a row: a round that returns a value
   * resets the count.
   */
  retry?: RetryPolicy
}

/** What the check of an `until` gets. */
export interface CheckTools extends Pick<StepTools, 'idempotencyKey' | 'signal' | 'heartbeat'> {
  /** From 1. A crash may set it back a little. */
  readonly round: number
}

/** The values that end an `until`. */
export type Truthy<T> = Exclude<T, false | 0 | 0n | '' | null | undefined>

export interface CallbackOptions<T> {
  /** After this time an answer is refused. */
  timeout?: Duration
  /** The schema of an answer. If it can be expressed as JSON Schema, it makes the form of the page behind `url`. */
  schema?: Schema<unknown, T>
  /** What the page behind `url` asks for. Default: the callback's name. */
  question?: string
  /**
   * Without a heartbeat (`client.heartbeatCallback`, `POST <url>/heartbeat`) for this long it rejects with a
   * TimeoutError.
   */
  heartbeatTimeout?: Duration
}

/** For a webhook: the answer is the request as it was posted. */
export interface RawCallbackOptions extends Omit<CallbackOptions<RawRequest>, 'schema'> {
  raw: true
}

export interface Callback<T> {
  /**
   * Where a person finds a page to answer on, and where a service posts. Only a path if the world has no
   * `publicUrl`.
   */
  readonly url: string
  /** The last part of `url`. Its bearer may answer, once. */
  readonly token: string
  readonly promise: Promise<T>
}

/** A request as it came, so that a step can check its signature. */
export interface RawRequest {
  /** Names in lower case. */
  headers: Record<string, string>
  body: string
  /** The body is not UTF-8 text, and is given as base64. */
  isBase64?: true
}

export interface ChildOptions {
  /** Defaults to one derived from this run and the call. */
  id?: string
  /** Starts it and does not wait for it. */
  detached?: boolean
  /** What happens to a child that still runs when this run ends. Default `cancel`, `abandon` for detached ones. */
  onParentEnd?: OnParentEnd
}

/** The branches of a race, by name. */
export type Branches = Record<string, (ctx: Context) => Promise<unknown>>

/** `key` is the name of the branch, and determines the type of `value`. */
export type Winner<B extends Branches> = {
  [K in keyof B & string]: { key: K; value: Awaited<ReturnType<B[K]>> }
}[keyof B & string]

export interface RaceOptions {
  /** How many branches must end. Then the result is a list, in the order in which they ended. */
  need?: number
}

export type MapBody<I, O> = (ctx: Context, item: I, index: number) => Promise<O>

/** A number of failures, or a share of the items, rounded down. */
export type Tolerance = number | `${number}%`

export interface MapOptions<I = unknown> {
  concurrency?: number
  /**
   * How many items must succeed. The map ends with the last of them, or as soon as too few are left: at once
   * if the list is shorter.
   */
  need?: number
  /** How many may fail. The map ends with one more failure. Default: none; with `need`, as many as it leaves. */
  tolerate?: Tolerance
  /**
   * The identity of an item, unique in the list. The default is its position, and a run whose list has
   * changed is parked. With a key, items may move, come and go: completed items never run again, removed
   * items are ignored. Once the map has ended, items may still be removed, and none may be added.
   */
  key?: (item: I, index: number) => string
}

export interface MapOutcome<O> {
  /**
   * `all`: every item has ended. `enough`: as many as needed succeeded. `too many failed`: more than
   * tolerated, or too few are left.
   */
  reason: 'all' | 'enough' | 'too many failed'
  succeeded: number
  failed: number
  /** Not begun, or withdrawn while running. */
  withdrawn: number
  /** In the order of the items. */
  results: ItemResult<O>[]
}

export type ItemResult<O> = PromiseSettledResult<O> | { status: 'withdrawn' }
