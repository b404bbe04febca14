import type { Duration } from './base/duration.ts'
import type { OnParentEnd } from './base/events.ts'
import type { Schema } from './base/schema.ts'
import type { Giving, IfStorable } from './base/storable.ts'
import type { RetryPolicy } from './engine/retry.ts'
import type { Limit } from './flow/limiter/limit.ts'
import type { AnyRequest, AnySignal, Workflow } from './workflow.ts'

/**
 * What workflow code holds in its hand. Every method is an operation that a replay repeats from the journal. `I` is what the workflow takes, for `continueAsNew`.
 */
// biome-ignore lint/suspicious/noExplicitAny: a function that takes a context takes that of any workflow
export interface Context<I = any> {
  /** Runs `body` once and journals its result. It runs again, under the same idempotency key, only after a failure or a crash. */
  step<T>(
    name: string,
    body: ((step: StepTools) => T | Promise<T>) & IfStorable<NoInfer<T>>,
    options?: StepOptions,
  ): Promise<T>

  /** Calls another function — on AWS, a Lambda function by name or ARN — as a step. The idempotency key goes along. */
  invoke<T = unknown>(functionName: string, payload?: unknown, options?: InvokeOptions): Promise<T>

  /** Has a worker outside do it — another language, another machine — over HTTP. The run holds nothing meanwhile. */
  task<T = unknown>(type: string, input?: unknown, options?: TaskOptions): Promise<T>

  /** Waits without holding anything: a second or a year. */
  sleep(duration: Duration): Promise<void>
  sleep(name: string, duration: Duration): Promise<void>
  sleepUntil(date: Date | string | number): Promise<void>
  sleepUntil(name: string, date: Date | string | number): Promise<void>

  /** The next request of this name, in the order they were asked. Whoever asked waits for `reply`; `undefined` when the timeout passes first. */
  waitFor<P, R>(request: AnyRequest<P, R>, options: WaitOptions & Deadline): Promise<Asked<P, R> | undefined>
  waitFor<P, R>(request: AnyRequest<P, R>, options?: WaitOptions): Promise<Asked<P, R>>
  /**
   * The payload of the oldest signal of this name that was not consumed, also of one sent before the wait. It is `true` for a signal
   * that carries nothing, and `undefined` only when the timeout passes first.
   */
  waitFor<T>(signal: AnySignal<T>, options: WaitOptions & Deadline): Promise<Received<T> | undefined>
  waitFor<T>(signal: AnySignal<T>, options?: WaitOptions): Promise<Received<T>>

  /**
   * Asks until `check` gives something truthy, and gives that. Holds nothing between two rounds, and the journal does not grow with
   * them. With a `timeout`, a last look is taken when it has passed; `undefined` if that was in vain too.
   */
  until<T>(
    name: string,
    check: (round: CheckTools) => T | Promise<T>,
    options: UntilOptions & { timeout: Duration },
  ): Promise<Truthy<T> | undefined>
  until<T>(name: string, check: (round: CheckTools) => T | Promise<T>, options: UntilOptions): Promise<Truthy<T>>

  /** A link to hand out; `promise` settles when somebody answers. It rejects with a TimeoutError after `timeout`. */
  callback(name: string, options: RawCallbackOptions): Callback<RawRequest>
  callback<T = unknown>(name: string, options?: CallbackOptions<T>): Callback<T>

  /** Runs another workflow as a run of its own. */
  run<C, O>(child: Workflow<C, O>, input: C, options: ChildOptions & { detached: true }): Promise<{ runId: string }>
  run<C, O>(child: Workflow<C, O>, ...given: Giving<C, ChildOptions>): Promise<O>

  /** A named branch: operations inside get identities of their own, whatever other branches do. */
  scope<T>(name: string, body: (ctx: Context<I>) => Promise<T>): Promise<T>
  /**
   * The branch that ends first, which may fail; with `need`, the first so many. The others are withdrawn: their waits, timers, children and tasks are taken
   * back, the signals of their steps aborted, and nothing that happens in them is heard of. Each branch has to use the context it is given.
   */
  race<B extends Branches>(name: string, branches: B, options: RaceOptions & { need: number }): Promise<Winner<B>[]>
  race<B extends Branches>(name: string, branches: B, options?: RaceOptions): Promise<Winner<B>>
  /**
   * One scope per item, at most `concurrency` at a time. The first failure fails the map, unless it is told what to `need` or `tolerate`:
   * then it gives an outcome, whatever happens, and what still runs when it is decided is withdrawn, as the losers of a race are.
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

  /** Ends this generation and starts the next one with a fresh journal, under the same run id. The input is what the workflow's callers would pass. */
  continueAsNew(...given: Giving<I, never>): Promise<never>
  /** True for code that is new to this run, false for a run that had already passed this point without it. */
  patched(id: string): boolean

  /** Epoch milliseconds of the last thing that happened to the run: the same on every replay. */
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
  /** Shows a sign of life with details outside, and throws once the step has been aborted. */
  heartbeat(details?: unknown): void
  /** Durable when the promise resolves; the next attempt finds it in `lastCheckpoint`. */
  checkpoint(data: unknown): Promise<void>
  /** What the last `checkpoint` or `pause` of this step saved. */
  readonly lastCheckpoint: unknown
  /** Gives the runner up for a while and re-enters the same body with `data` as `lastCheckpoint`. Code after it does not run. */
  pause(name: string, duration: Duration, data?: unknown): Promise<never>
}

export interface StepOptions {
  retry?: RetryPolicy
  /** Per attempt. Aborts the signal and counts as a failed attempt. */
  timeout?: Duration
  /** `at-most-once` journals the attempt before it runs; an interrupted one fails with a StepInterruptedError. Default `at-least-once`. */
  semantics?: 'at-least-once' | 'at-most-once'
  /** What it has to be let in to: it waits in line without holding anything. With `.for(key)`, the part of the limit for that key. */
  limit?: Limit
  /** How much of the limit's rate it takes; a function is given `input`. Default 1. */
  // biome-ignore lint/suspicious/noExplicitAny: it is given whatever `input` is
  cost?: number | ((input: any) => number)
  /** What the body works with. A digest of it is journaled with the result, and a run whose code has another one for this step since is parked. */
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
  /** Per attempt, from when a worker takes it. A worker that takes longer loses it, which counts as a failed attempt. */
  timeout?: Duration
  /** A worker that gives no sign of life for this long loses the task. Default: `timeout`, or 5 minutes. */
  heartbeatTimeout?: Duration
  /** How often a worker may ask for one more round (`continue`). Default 100. */
  maxIterations?: number
  /** What it has to be let in to before it is handed out, until it has ended. */
  limit?: Limit
  /** How much of the limit's rate it takes; a function is given the task's input. Default 1. */
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

/** What a wait for a signal gives. A signal that carries nothing gives `true`, because `undefined` means the timeout. */
export type Received<T> = undefined extends T ? Exclude<T, undefined> | true : T

/** A request that the run has taken. Whoever asked gets the first thing that is said to it, once it is in the journal. */
export interface Asked<P, R> {
  readonly payload: P
  reply(...given: undefined extends R ? [value?: R] : [value: R]): void
  /** Whoever asked gets a RequestRefusedError with this as its cause. */
  refuse(reason: unknown): void
}

export interface UntilOptions {
  /** The time between two rounds. */
  every: Duration
  /** Each time is longer than the one before. */
  backoff?: {
    /** By how much. Default 2. */
    factor?: number
    /** The longest. Default: an hour, or `every` where that is longer. */
    max?: Duration
  }
  timeout?: Duration
  /** What becomes of a round that throws. `attempts` are those in a row: a round that gives an answer, whatever it is, begins the count anew. */
  retry?: RetryPolicy
}

/** What the check of an `until` is given. */
export interface CheckTools extends Pick<StepTools, 'idempotencyKey' | 'signal' | 'heartbeat'> {
  /** From 1. A crash may take it back a little. */
  readonly round: number
}

/** What an `until` can end with. */
export type Truthy<T> = Exclude<T, false | 0 | 0n | '' | null | undefined>

export interface CallbackOptions<T> {
  /** From then on nobody can answer any more. */
  timeout?: Duration
  /** What an answer has to fit. Where it can be said as JSON Schema, it makes the form of the page behind `url`. */
  schema?: Schema<unknown, T>
  /** What the page behind `url` asks for. Default: the callback's name. */
  question?: string
  /** Without a sign of life (`client.heartbeatCallback`, `POST <url>/heartbeat`) for this long it rejects with a TimeoutError. */
  heartbeatTimeout?: Duration
}

/** For a webhook: whatever is posted is the answer, as it came. */
export interface RawCallbackOptions extends Omit<CallbackOptions<RawRequest>, 'schema'> {
  raw: true
}

export interface Callback<T> {
  /** Where a person finds a page to answer on, and where a service posts. Only its path where the world knows no address of its own. */
  readonly url: string
  /** The last part of `url`. Whoever has it may answer, once. */
  readonly token: string
  readonly promise: Promise<T>
}

/** A request as it came, so that a step can check its signature. */
export interface RawRequest {
  /** Names in lower case. */
  headers: Record<string, string>
  body: string
  /** The body is no UTF-8 text, and is here as base64. */
  isBase64?: true
}

export interface ChildOptions {
  /** Defaults to one derived from this run and the call. */
  id?: string
  /** Start it and go on. */
  detached?: boolean
  /** What happens to a child that still runs when this run ends. Default `cancel`, `abandon` for detached ones. */
  onParentEnd?: OnParentEnd
}

/** What a race is between, by name. */
export type Branches = Record<string, (ctx: Context) => Promise<unknown>>

/** `key` says which branch it was, and so what `value` is. */
export type Winner<B extends Branches> = {
  [K in keyof B & string]: { key: K; value: Awaited<ReturnType<B[K]>> }
}[keyof B & string]

export interface RaceOptions {
  /** How many are to win. Then the result is a list, in the order in which they ended. */
  need?: number
}

export type MapBody<I, O> = (ctx: Context, item: I, index: number) => Promise<O>

/** So many failures, or a share of the items, rounded down. */
export type Tolerance = number | `${number}%`

export interface MapOptions<I = unknown> {
  concurrency?: number
  /** How many have to succeed. The map ends with the last of them, or as soon as too few are left: at once where the list is shorter. */
  need?: number
  /** How many may fail. The map ends with one more. Default: none; with `need`, as many as it leaves. */
  tolerate?: Tolerance
  /**
   * What an item is known by, each by another text. Unless given that is its place, and a run whose list has changed is parked. With it, items may change places, come and go:
   * those that were done are not done again, and what is gone is left alone. Once the map has ended, items may still leave its list, and none may be added.
   */
  key?: (item: I, index: number) => string
}

export interface MapOutcome<O> {
  /** `all`: every item has ended. `enough`: as many as needed succeeded. `too many failed`: more than tolerated, or too few are left. */
  reason: 'all' | 'enough' | 'too many failed'
  succeeded: number
  failed: number
  /** Not begun, or taken back. */
  withdrawn: number
  /** In the order of the items. */
  results: ItemResult<O>[]
}

export type ItemResult<O> = PromiseSettledResult<O> | { status: 'withdrawn' }
