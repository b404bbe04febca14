import { type AskOptions, Client, type RepeatOptions, type RunView, type StartOptions } from '../client/client.ts'
import type { Codec } from '../codec/codec.ts'
import { withCodec } from '../codec/with-codec.ts'
// Loaded early: loading it during a run would take longer than `settle` waits for a heartbeat.
import '../definitions/as-workflow.ts'
import { type Duration, milliseconds } from '../base/duration.ts'
import type { Giving } from '../base/storable.ts'
import type { HistoryEvent } from '../client/history.ts'
import { Schedules } from '../client/schedules.ts'
import type { Catalogue } from '../definitions/catalogue.ts'
import type { NamedHandler } from '../definitions/define.ts'
import type { StepBody } from '../engine/run-context.ts'
import type { EventMapping } from '../events/mapping.ts'
import { type Taken, takeEvent } from '../events/take.ts'
import type { DocumentStore } from '../ports/documents.ts'
import type { RunStatus } from '../ports/run.ts'
import type { RunSummary } from '../ports/run-lists.ts'
import type { RunStore } from '../ports/run-store.ts'
import type { LogLevel } from '../ports/world.ts'
import type { LocalFunction } from '../runner/local-function.ts'
import { Runner } from '../runner/runner.ts'
import { type Schedule, withSchedules } from '../schedule.ts'
import { TaskBroker } from '../tasks/broker.ts'
import type { TaskHandler } from '../worker/task.ts'
import { Worker } from '../worker/worker.ts'
import { type AnyWorkflow, Registry, type RunRequest, type Signal, type Workflow } from '../workflow.ts'
import { LocalWorld } from '../worlds/local/world.ts'
import { brokerWire } from './broker-wire.ts'
import { mortalStore } from './mortal-store.ts'
import { seededIds } from './seeded-ids.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface TestEnvOptions {
  workflows: Iterable<AnyWorkflow>
  schedules?: readonly Schedule[]
  /** The handlers that stored definitions may call by name. */
  handlers?: readonly NamedHandler[]
  /** The functions that `ctx.invoke` calls. A stub of the step takes precedence. */
  functions?: readonly LocalFunction[]
  /** Makes ids and jitter repeatable. Default 1. */
  seed?: string | number
  /** Default 2026-01-01T00:00:00Z. */
  startTime?: Date | string | number
  /** The base of callback URLs. Unless given they are paths, `/callbacks/<token>`. */
  publicUrl?: string
  /** Transforms payloads before they are stored; `env.store` has them in stored form. */
  codec?: Codec
  /**
   * Stacks of failed steps show the lines that called `ctx.step`. Default true; without it steps are a little
   * faster.
   */
  tracesCalls?: boolean
}

export interface LogLine {
  level: LogLevel
  message: string
  fields: Record<string, unknown>
}

/** A world in memory under virtual time. Time moves only in `advance` and while a result is awaited. */
export async function testEnv(options: TestEnvOptions): Promise<TestEnv> {
  const env = new TestEnv(options)
  await env.restart()
  return env
}

/** How long a body that does real work may go without a heartbeat before virtual time goes on. */
const REAL_GRACE_MS = 30
/** No other process competes for the runs, and renewing leases would only add timers to skip. */
const FOREVER_MS = 1_000 * 86_400_000

/**
 * After so many checks of limiters in a row without a change, nothing will change. The second check of each
 * finds what the first has freed.
 */
const MOST_CHECKS = 5

export class TestEnv {
  readonly clock: VirtualClock
  /** Everything that was logged, replays excluded. */
  readonly logs: LogLine[] = []
  private workflows: AnyWorkflow[]
  private readonly scheduled: readonly Schedule[]
  private handlers: readonly NamedHandler[]
  private readonly stubs = new Map<string, StepBody>()
  private readonly origin: LocalWorld
  private readonly codec: Codec | undefined
  private readonly tracesCalls: boolean
  private runner!: Runner
  private readonly owners: string[] = []
  private currentClient!: Client
  private readonly workers: { type: string; worker: Worker }[] = []
  private die: (() => void) | undefined

  constructor(options: TestEnvOptions) {
    this.scheduled = options.schedules ?? []
    this.handlers = options.handlers ?? []
    this.codec = options.codec
    this.tracesCalls = options.tracesCalls ?? true
    this.workflows = withSchedules(options.workflows, this.scheduled)
    this.clock = new VirtualClock(new Date(options.startTime ?? '2026-01-01T00:00:00Z').getTime())
    const log = (level: LogLevel, message: string, fields: Record<string, unknown>) =>
      void this.logs.push({ level, message, fields })
    this.origin = new LocalWorld({
      path: ':memory:',
      clock: this.clock,
      ids: seededIds(options.seed ?? 1),
      log,
      publicUrl: options.publicUrl,
      functions: options.functions,
    })
  }

  /** What survives a restart. */
  get store(): RunStore {
    return this.origin.store
  }

  get documents(): DocumentStore {
    return this.origin.documents
  }

  get client(): Client {
    return this.currentClient
  }

  /** Saves definitions, which can then be started by name: `client.start('drip-campaign', …)`. */
  get definitions(): Catalogue {
    return this.client.definitions
  }

  get schedules(): Schedules {
    return new Schedules(this.client)
  }

  async start<I, O>(workflow: Workflow<I, O>, ...given: Giving<I, StartOptions>): Promise<RunHandle<O>> {
    const { runId } = await this.client.start(workflow, ...given)
    return new RunHandle<O>(this, runId)
  }

  /**
   * Applies an event to runs, as its source would: `env.handle((await env.event(orderPlaced, { id: 'e-1', …
   * })).runId)`.
   */
  event(mapping: EventMapping, event: unknown): Promise<Taken> {
    return takeEvent(this.client, mapping, event)
  }

  /** A handle on a run that something else started. */
  handle<O = unknown>(runId: string): RunHandle<O> {
    return new RunHandle<O>(this, runId)
  }

  /** From now on steps of this name run `body` instead of their own. */
  stub(stepName: string, body: StepBody): void {
    this.stubs.set(stepName, body)
  }

  /** An external worker that does tasks of this type (`ctx.task`). It survives restarts. */
  worker(type: string, handler: TaskHandler): Worker {
    const wire = brokerWire(new TaskBroker(withCodec(this.origin, this.codec)))
    const worker = new Worker({
      tasks: { [type]: handler },
      wire,
      log: (message) => void this.logs.push({ level: 'warn', message, fields: {} }),
    })
    this.workers.push({ type, worker })
    return worker
  }

  /**
   * Kills the process: work in progress is lost, only the store survives. `workflows` and `handlers` deploy
   * other code.
   */
  async restart(workflows?: Iterable<AnyWorkflow>, handlers?: readonly NamedHandler[]): Promise<void> {
    this.die?.()
    if (workflows) this.workflows = withSchedules(workflows, this.scheduled)
    if (handlers) this.handlers = handlers
    for (const owner of this.owners) await this.origin.runnerRegistry.release(owner)
    const { store, die } = mortalStore(this.origin.store)
    const { store: documents, die: dieToo } = mortalStore(this.origin.documents)
    this.die = () => {
      die()
      dieToo()
    }
    const mortal = Object.assign(Object.create(Object.getPrototypeOf(this.origin)), this.origin, {
      store,
      documents,
      inlineWaitMs: -1,
    }) as LocalWorld
    const world = withCodec(mortal, this.codec)
    this.runner = new Runner(world, {
      workflows: this.workflows,
      handlers: this.handlers,
      stubs: this.stubs,
      leaseMs: FOREVER_MS,
      tracesCalls: this.tracesCalls,
    })
    this.currentClient = new Client(world, new Registry(this.workflows), this.handlers)
    this.owners.push(this.runner.owner)
    await this.runner.start()
    if (this.scheduled.length > 0) await this.schedules.sync(this.scheduled)
  }

  /** Advances time; everything due within it happens on the way. */
  async advance(duration: Duration): Promise<void> {
    const target = this.clock.now() + milliseconds(duration, 'advance')
    for (;;) {
      await this.settle()
      const next = this.clock.next()
      if (next === undefined || next > target) break
      this.clock.moveTo(next)
    }
    this.clock.moveTo(target)
    await this.settle()
  }

  now(): Date {
    return new Date(this.clock.now())
  }

  /** Until every run waits for time, for a message, or for a body without a heartbeat. */
  async settle(): Promise<void> {
    let quietSince = performance.now()
    let uses = this.clock.uses
    while (!this.isIdle()) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      if (uses !== this.clock.uses) {
        uses = this.clock.uses
        quietSince = performance.now()
      } else if (performance.now() - quietSince > REAL_GRACE_MS) return
    }
  }

  /** Skips from timer to timer until `promise` settles. */
  async skipUntil<T>(promise: Promise<T>): Promise<T> {
    let done = false
    const mark = () => {
      done = true
    }
    promise.then(mark, mark)
    let vain = 0
    while (!done) {
      await this.settle()
      await new Promise<void>((resolve) => setImmediate(resolve))
      if (done) break
      const next = this.clock.next()
      if (next === undefined) {
        if (!this.isIdle()) continue
        throw new Error(`nothing will ever wake what the test waits for: ${await this.whatWaits()}`)
      }
      // Limiters with a queue are checked again and again, even if nothing can ever change.
      vain = this.onlyLimitersAreDue() ? vain + 1 : 0
      if (vain > MOST_CHECKS)
        throw new Error(`nothing will ever wake what the test waits for: ${await this.whatWaits()}`)
      this.clock.moveTo(next)
    }
    return promise
  }

  private onlyLimitersAreDue(): boolean {
    return (
      this.isIdle() &&
      this.clock.timerCount === 1 &&
      this.origin.runnerRegistry.agenda(this.clock.now()).nextRun === undefined
    )
  }

  private isIdle(): boolean {
    const workersAreIdle = this.workers.every(
      ({ type, worker }) => worker.load === 0 && this.origin.tasks.isQuiet(type),
    )
    return this.runner.isIdle && workersAreIdle
  }

  private async whatWaits(): Promise<string> {
    const { runs } = await this.client.list({ limit: 1_000 })
    const open = runs.filter((run) => run.endedAt === undefined)
    return open.map((run) => `run '${run.runId}' is ${run.status} (${reasonOf(run)})`).join('; ') || 'no run is open'
  }
}

function reasonOf({ waitingFor = [], error }: RunSummary): string {
  return error?.message ?? waitingFor.map(({ kind, id }) => `${kind} '${id}'`).join(', ')
}

/** One run, as a test holds it. */
export class RunHandle<O = unknown> {
  readonly runId: string
  private readonly env: TestEnv

  constructor(env: TestEnv, runId: string) {
    this.env = env
    this.runId = runId
  }

  /** Skips time until the run has ended. */
  result(): Promise<O> {
    return this.env.skipUntil(this.env.client.result<O>(this.runId))
  }

  /** Where the run stands once everything that can happen now has happened. */
  async status(): Promise<RunStatus> {
    return (await this.get()).status
  }

  async get(): Promise<RunView> {
    await this.env.settle()
    return this.env.client.get(this.runId)
  }

  async history(): Promise<HistoryEvent[]> {
    await this.env.settle()
    return this.env.client.history(this.runId)
  }

  async signal<In>(
    signal: Signal<unknown, In> | string,
    ...given: Giving<In, RepeatOptions>
  ): Promise<{ accepted: boolean }> {
    return this.env.client.signal(this.runId, signal, ...given)
  }

  /** Skips time until the run has replied. */
  async ask<In, Out>(
    request: RunRequest<unknown, In, never, Out> | string,
    ...given: Giving<In, AskOptions>
  ): Promise<Out> {
    return this.env.skipUntil(this.env.client.ask(this.runId, request, ...given))
  }

  async cancel(reason?: string): Promise<void> {
    await this.env.client.cancel(this.runId, reason)
  }
}
