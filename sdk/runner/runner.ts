import { recordError } from '../base/error-records.ts'
import { UnknownWorkflowError } from '../base/errors.ts'
import type { NamedHandler } from '../definitions/define.ts'
import { StoredWorkflows } from '../definitions/stored-workflows.ts'
import { traceCall } from '../engine/call-sites.ts'
import type { StepBody } from '../engine/run-context.ts'
import { runOnce } from '../engine/run-loop.ts'
import type { Hint, RunnerRegistry } from '../ports/runner-registry.ts'
import type { World } from '../ports/world.ts'
import { cannotCheck } from '../rules/limiters/failed-check.ts'
import { type AnyWorkflow, Registry } from '../workflow.ts'
import { RunnersLog } from './runners-log.ts'

export interface RunnerOptions {
  workflows: Iterable<AnyWorkflow>
  /** What stored definitions may call by name. */
  handlers?: readonly NamedHandler[]
  /** How many runs may be under way at once. */
  concurrency?: number
  leaseMs?: number
  stubs?: ReadonlyMap<string, StepBody>
  /**
   * Stacks of failed steps show the lines that called `ctx.step`. For development: it makes every step a little
   * slower. Default false.
   */
  tracesCalls?: boolean
}

export type ResidentWorld = World & { readonly runnerRegistry: RunnerRegistry }

const BATCH = 500
/** Limiters that are checked at once. */
const LIMITERS = 100
/**
 * A run that could not be taken further is left alone, longer each time. After so many times in a row it is parked.
 */
const FIRST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 30_000
const MOST_FAILURES = 6
/** How long a run is left to others that this runner's code does not know. */
const LEFT_TO_OTHERS_MS = 15_000

/**
 * Takes every run that is due as far as it goes. One timer is set, for the earliest due run; waiting runs hold no
 * memory.
 */
export class Runner {
  private readonly world: ResidentWorld
  private readonly source: StoredWorkflows
  readonly owner: string
  private readonly concurrency: number
  private readonly leaseMs: number
  private readonly stubs: ReadonlyMap<string, StepBody> | undefined
  private readonly tracesCalls: boolean
  private readonly active = new Map<string, Promise<void>>()
  private readonly ready = new Set<string>()
  /** Runs that are due and not to be taken before their time. */
  private readonly backingOff = new Map<string, number>()
  private readonly failures = new Map<string, number>()
  private readonly log: RunnersLog
  private timer: { at: number; cancel: () => void } | undefined
  private isRunning = false
  /** The store may hold more than `ready` does. */
  private moreInStore = false
  private isLooking = false

  constructor(world: ResidentWorld, options: RunnerOptions) {
    this.world = world
    this.source = new StoredWorkflows(world, new Registry(options.workflows), options.handlers)
    this.owner = world.ids.secret()
    this.concurrency = options.concurrency ?? 1_000
    this.leaseMs = options.leaseMs ?? 30_000
    this.stubs = options.stubs
    this.tracesCalls = options.tracesCalls ?? false
    this.log = new RunnersLog(world)
  }

  /** Recovers what a dead process left behind, then goes on with whatever is due. */
  async start(): Promise<void> {
    const { runnerRegistry } = this.world
    this.isRunning = true
    await runnerRegistry.register(this.owner, (hint) => (hint ? this.heard(hint) : this.lookAgain()))
    // A new process is a new deployment: what was stuck gets another chance with the code of today, if it is of today.
    for (const { id, workflow, version } of runnerRegistry.stuckRuns())
      if (await this.knows(workflow, version)) await this.world.store.revive(id)
    this.lookAgain()
  }

  /** Stops taking runs and waits for those under way, at most `graceMs`. Steps cut short run again next time. */
  async stop(graceMs = 5_000): Promise<void> {
    this.isRunning = false
    this.timer?.cancel()
    const grace = new Promise<void>((resolve) => setTimeout(resolve, graceMs).unref())
    await Promise.race([Promise.allSettled(this.active.values()), grace])
    this.log.close()
    await this.world.runnerRegistry.unregister(this.owner, this.active.size > 0)
  }

  /** Nothing is under way and nothing is due. */
  get isIdle(): boolean {
    return this.active.size === 0 && this.ready.size === 0 && !this.moreInStore && !this.isLooking
  }

  private heard({ runId, at }: Hint): void {
    if (!this.isRunning) return
    if (at > this.world.clock.now()) this.armTimer(at)
    else if (runId === undefined) this.lookAgain()
    else {
      this.ready.add(runId)
      this.fill()
    }
  }

  private lookAgain(): void {
    this.moreInStore = true
    this.fill()
  }

  private fill(): void {
    if (!this.isRunning) return
    for (const runId of this.ready) {
      if (this.active.size >= this.concurrency) return
      // The loop that has it is about to release it: it is taken as soon as that is over.
      if (this.active.has(runId)) continue
      this.ready.delete(runId)
      if (!this.isBackingOff(runId)) this.take(runId)
    }
    if (this.moreInStore && this.active.size < this.concurrency) void this.refill()
  }

  private async refill(): Promise<void> {
    if (this.isLooking) return
    this.isLooking = true
    this.moreInStore = false
    const now = this.world.clock.now()
    // Runs that were taken a moment ago may still look due, so they must not fill the page; nor must those that are
    // left alone for a while.
    const limit = BATCH + this.active.size + this.backingOff.size
    try {
      const { store, runnerRegistry } = this.world
      const found = await store.overdue(now, limit)
      const due = found.filter(({ runId }) => !this.active.has(runId) && !this.isBackingOff(runId))
      if (!this.isRunning) return
      for (const { runId } of due) this.ready.add(runId)
      if (found.length === limit && due.length > 0) this.moreInStore = true
      let agenda = runnerRegistry.agenda(now)
      if (agenda.hasDueLimiters) {
        if (await this.checkLimiters(now)) this.moreInStore = true
        agenda = runnerRegistry.agenda(now)
      }
      const next = Math.min(agenda.nextRun ?? Number.POSITIVE_INFINITY, agenda.nextLimiter ?? Number.POSITIVE_INFINITY)
      if (Number.isFinite(next)) this.armTimer(next)
    } catch (error) {
      this.log.failed(undefined, error)
      this.armTimer(now + FIRST_BACKOFF_MS)
    } finally {
      // Not earlier: until what was found is in `ready`, this runner is not idle.
      this.isLooking = false
    }
    if (this.ready.size > 0) this.fill()
  }

  /** I10: limiters that are due. This runner hears of runs that are woken by it in the usual way. */
  private async checkLimiters(now: number): Promise<boolean> {
    const { store, wakeups } = this.world
    const { wakes, isMore, failures } = await store.checkLimiters(now, LIMITERS)
    for (const { limiter, error } of failures)
      this.world.log('error', cannotCheck(limiter, error), { limit: limiter.limit })
    if (wakes.length > 0) await wakeups.send(wakes)
    return isMore
  }

  private take(runId: string): void {
    const lease = { owner: this.owner, ms: this.leaseMs }
    const work = runOnce(this.world, this.source, runId, {
      lease,
      stubs: this.stubs,
      ...(this.tracesCalls && { traceCall }),
    })
      .then(
        ({ status }) => {
          if (status === 'unknown') this.backOff(runId, LEFT_TO_OTHERS_MS)
          else if (status !== 'skipped') this.failures.delete(runId)
        },
        (error: unknown) => this.couldNotTake(runId, error),
      )
      .then(() => {
        this.active.delete(runId)
        this.fill()
      })
    this.active.set(runId, work)
  }

  /** What cannot be loaded now may be loadable in a while; what never can be is parked, for people to see. */
  private async couldNotTake(runId: string, error: unknown): Promise<void> {
    if (!this.isRunning) return
    this.log.failed(runId, error)
    const times = (this.failures.get(runId) ?? 0) + 1
    this.failures.set(runId, times)
    this.backOff(runId, Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (times - 1)))
    // The store's own trouble says nothing about the run.
    if (times < MOST_FAILURES || isOfTheStore(error)) return
    try {
      if ((await this.world.store.park(runId, recordError(error))) === 'parked') {
        this.failures.delete(runId)
        // Others may have waited for its place.
        this.lookAgain()
      }
    } catch (parkError) {
      this.log.failed(runId, parkError)
    }
  }

  private backOff(runId: string, ms: number): void {
    const until = this.world.clock.now() + ms
    this.backingOff.set(runId, until)
    this.armTimer(until)
  }

  private isBackingOff(runId: string): boolean {
    const until = this.backingOff.get(runId)
    if (until === undefined) return false
    if (until > this.world.clock.now()) return true
    this.backingOff.delete(runId)
    return false
  }

  private armTimer(at: number): void {
    if (this.timer && this.timer.at <= at) return
    this.timer?.cancel()
    const cancel = this.world.clock.at(at, () => {
      this.timer = undefined
      const now = this.world.clock.now()
      // Also one that was parked meanwhile, and will never be asked for again.
      for (const [runId, until] of this.backingOff) if (until <= now) this.backingOff.delete(runId)
      // Other runs may be left alone for longer; `refill` knows only of what is in the store.
      const next = Math.min(...this.backingOff.values())
      this.lookAgain()
      if (Number.isFinite(next)) this.armTimer(next)
    })
    this.timer = { at, cancel }
  }

  private async knows(workflow: string, version: number): Promise<boolean> {
    try {
      await this.source.exact(workflow, version)
      return true
    } catch (error) {
      if (error instanceof UnknownWorkflowError) return false
      throw error
    }
  }
}

/** A full disk, a file that cannot be written: it is not the fault of the run that met it. Damage is where it is. */
function isOfTheStore(error: unknown): boolean {
  return (
    error instanceof Error && error.name === 'LocalFileError' && (error as { code?: string }).code !== 'SQLITE_CORRUPT'
  )
}
