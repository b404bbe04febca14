import type { NamedHandler } from '../../definitions/define.ts'
import { StoredWorkflows } from '../../definitions/stored-workflows.ts'
import type { StepBody } from '../../engine/run-context.ts'
import { runOnce } from '../../engine/run-loop.ts'
import type { Wake } from '../../ports.ts'
import { type AnyWorkflow, Registry, type WorkflowSource } from '../../workflow.ts'
import { deadOwners, Liveness } from './liveness.ts'
import type { LocalWorld } from './world.ts'

export interface LocalRunnerOptions {
  workflows: Iterable<AnyWorkflow>
  /** What stored definitions may call by name. */
  handlers?: readonly NamedHandler[]
  /** How many runs may be under way at once. */
  concurrency?: number
  leaseMs?: number
  stubs?: ReadonlyMap<string, StepBody>
}

const BATCH = 500
const PURGE_EVERY_MS = 3_600_000

/** Takes every run that is due as far as it goes. One timer, for the earliest of them; nothing is held for the rest. */
export class LocalRunner {
  private readonly world: LocalWorld
  private readonly source: WorkflowSource
  readonly owner: string
  private readonly concurrency: number
  private readonly leaseMs: number
  private readonly stubs: ReadonlyMap<string, StepBody> | undefined
  private readonly active = new Map<string, Promise<void>>()
  private readonly ready = new Set<string>()
  private liveness: Liveness | undefined
  private timer: { at: number; cancel: () => void } | undefined
  private housekeeping: NodeJS.Timeout | undefined
  private stopListening: (() => void) | undefined
  private isRunning = false
  /** The due index may hold more than `ready` does. */
  private moreInStore = false
  private isLooking = false

  constructor(world: LocalWorld, options: LocalRunnerOptions) {
    this.world = world
    this.source = new StoredWorkflows(world, new Registry(options.workflows), options.handlers)
    this.owner = world.ids.secret()
    this.concurrency = options.concurrency ?? 1_000
    this.leaseMs = options.leaseMs ?? 30_000
    this.stubs = options.stubs
  }

  /** Recovers what a dead process left behind, then goes on with whatever is due. */
  async start(): Promise<void> {
    const { store, wakeups, path } = this.world
    this.isRunning = true
    wakeups.listen((wake) => this.heard(wake))
    if (path !== ':memory:') {
      for (const owner of deadOwners(path)) await store.releaseOwner(owner)
      this.liveness = new Liveness(path, this.owner)
      this.stopListening = store.onForeignWrite(() => this.lookAgain())
      this.housekeeping = setInterval(() => void this.purge(), PURGE_EVERY_MS).unref()
      await this.purge()
    }
    // A new process is a new deployment: what was stuck gets another chance with the code of today.
    for (const runId of store.stuckRuns()) await store.revive(runId)
    this.lookAgain()
  }

  /** Stops taking runs and waits for those under way, at most `graceMs`. Steps cut short run again next time. */
  async stop(graceMs = 5_000): Promise<void> {
    this.isRunning = false
    this.timer?.cancel()
    clearInterval(this.housekeeping)
    this.world.wakeups.listen(undefined)
    this.stopListening?.()
    const grace = new Promise<void>((resolve) => setTimeout(resolve, graceMs).unref())
    await Promise.race([Promise.allSettled(this.active.values()), grace])
    // Whoever is next need not wait for our leases to run out. What still runs here can write nothing any more.
    if (this.active.size > 0) await this.world.store.handBack(this.owner)
    this.liveness?.release()
  }

  /** Nothing is under way and nothing is due. */
  get isIdle(): boolean {
    return this.active.size === 0 && this.ready.size === 0 && !this.moreInStore && !this.isLooking
  }

  private heard({ runId, at }: Wake): void {
    if (!this.isRunning) return
    if (at <= this.world.clock.now()) {
      this.ready.add(runId)
      this.fill()
    } else this.armTimer(at)
  }

  private lookAgain(): void {
    this.moreInStore = true
    this.fill()
  }

  private fill(): void {
    if (!this.isRunning) return
    for (const runId of this.ready) {
      if (this.active.size >= this.concurrency) return
      // About to be given up by the loop that has it: taken as soon as that is over.
      if (this.active.has(runId)) continue
      this.ready.delete(runId)
      this.take(runId)
    }
    if (this.moreInStore && this.active.size < this.concurrency) void this.refill()
  }

  private async refill(): Promise<void> {
    if (this.isLooking) return
    this.isLooking = true
    this.moreInStore = false
    const now = this.world.clock.now()
    // Runs that were taken a moment ago may still look due, so they must not fill the page.
    const limit = BATCH + this.active.size
    const found = await this.world.store.overdue(now, limit).catch((error: unknown) => {
      this.isLooking = false
      throw error
    })
    // Not a turn earlier: until what was found is in `ready`, this runner is not idle.
    this.isLooking = false
    const due = found.filter(({ runId }) => !this.active.has(runId))
    if (!this.isRunning) return
    for (const { runId } of due) this.ready.add(runId)
    if (found.length === limit) this.moreInStore = true
    const next = this.world.store.nextWake(now)
    if (next !== undefined) this.armTimer(next)
    if (due.length > 0) this.fill()
  }

  private take(runId: string): void {
    const lease = { owner: this.owner, ms: this.leaseMs }
    const work = runOnce(this.world, this.source, runId, { lease, stubs: this.stubs })
      .catch((error: unknown) => {
        // The lease runs out by itself, and the run is taken up again then.
        if (this.isRunning) this.world.log('error', `run '${runId}' could not be taken further: ${error}`, { runId })
        this.moreInStore = true
      })
      .then(() => {
        this.active.delete(runId)
        this.fill()
      })
    this.active.set(runId, work)
  }

  private armTimer(at: number): void {
    if (this.timer && this.timer.at <= at) return
    this.timer?.cancel()
    const cancel = this.world.clock.at(at, () => {
      this.timer = undefined
      this.lookAgain()
    })
    this.timer = { at, cancel }
  }

  private async purge(): Promise<void> {
    while ((await this.world.store.purgeExpired(BATCH)) === BATCH);
    await this.world.documents.purgeExpired()
  }
}
