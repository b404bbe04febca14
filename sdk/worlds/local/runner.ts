import { runOnce } from '../../engine/run-loop.ts'
import type { StepBody } from '../../engine/run-context.ts'
import type { Wake } from '../../ports.ts'
import { type AnyWorkflow, Registry } from '../../workflow.ts'
import { deadOwners, Liveness } from './liveness.ts'
import type { LocalWorld } from './world.ts'

export interface LocalRunnerOptions {
  workflows: Iterable<AnyWorkflow>
  /** How many runs may be under way at once. */
  concurrency?: number
  leaseMs?: number
  stubs?: ReadonlyMap<string, StepBody>
}

const BATCH = 500
const OTHERS_EVERY_MS = 200
const PURGE_EVERY_MS = 3_600_000

/** Takes every run that is due as far as it goes. One timer, for the earliest of them; nothing is held for the rest. */
export class LocalRunner {
  private readonly world: LocalWorld
  private readonly registry: Registry
  private readonly owner: string
  private readonly concurrency: number
  private readonly leaseMs: number
  private readonly stubs: ReadonlyMap<string, StepBody> | undefined
  private readonly active = new Map<string, Promise<void>>()
  private readonly ready = new Set<string>()
  private liveness: Liveness | undefined
  private timer: { at: number; cancel: () => void } | undefined
  private housekeeping: NodeJS.Timeout[] = []
  private isRunning = false
  /** The due index may hold more than `ready` does. */
  private moreInStore = false
  private whenIdle: (() => void)[] = []

  constructor(world: LocalWorld, options: LocalRunnerOptions) {
    this.world = world
    this.registry = new Registry(options.workflows)
    this.owner = world.ids.runId()
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
      this.watchOtherProcesses()
      await this.purge()
    }
    // A new process is a new deployment: what was stuck gets another chance with the code of today.
    for (const runId of store.stuckRuns()) await store.revive(runId)
    this.moreInStore = true
    this.fill()
  }

  /** Stops taking runs and waits for those under way, at most `graceMs`. Steps cut short run again next time. */
  async stop(graceMs = 5_000): Promise<void> {
    this.isRunning = false
    this.timer?.cancel()
    for (const timer of this.housekeeping) clearInterval(timer)
    this.world.wakeups.listen(undefined)
    const grace = new Promise<void>((resolve) => setTimeout(resolve, graceMs).unref())
    await Promise.race([Promise.allSettled(this.active.values()), grace])
    this.liveness?.release()
  }

  /** How many runs are under way right now. */
  get activeCount(): number {
    return this.active.size
  }

  /** Resolves when nothing is under way and nothing is due. */
  idle(): Promise<void> {
    if (this.isIdle()) return Promise.resolve()
    return new Promise((resolve) => this.whenIdle.push(resolve))
  }

  private heard({ runId, at }: Wake): void {
    if (!this.isRunning) return
    if (at <= this.world.clock.now()) {
      this.ready.add(runId)
      this.fill()
    } else this.armTimer(at)
  }

  private fill(): void {
    if (!this.isRunning) return
    for (const runId of this.ready) {
      if (this.active.size >= this.concurrency) return
      // Under way: its own runner will see the stimulus. If the run becomes due again, the store says so.
      this.ready.delete(runId)
      if (this.active.has(runId)) this.moreInStore = true
      else this.take(runId)
    }
    if (this.moreInStore && this.active.size < this.concurrency) void this.refill()
  }

  private async refill(): Promise<void> {
    this.moreInStore = false
    const due = (await this.world.store.overdue(this.world.clock.now(), BATCH)).filter(({ runId }) => !this.active.has(runId))
    if (!this.isRunning) return
    for (const { runId } of due) this.ready.add(runId)
    if (due.length === BATCH) this.moreInStore = true
    if (due.length > 0) return this.fill()
    const next = this.world.store.nextWake()
    if (next !== undefined) this.armTimer(next)
    this.tellIdle()
  }

  private take(runId: string): void {
    const lease = { owner: this.owner, ms: this.leaseMs }
    const work = runOnce(this.world, this.registry, runId, { lease, stubs: this.stubs })
      .catch((error: unknown) => {
        // The lease runs out by itself, and the run is taken up again then.
        if (this.isRunning) this.world.log('error', `run '${runId}' could not be taken further: ${error}`, { runId })
      })
      .then(() => {
        this.active.delete(runId)
        if (this.active.size === 0 || this.ready.size === 0) this.moreInStore = true
        this.fill()
      })
    this.active.set(runId, work.then())
  }

  private armTimer(at: number): void {
    if (this.timer && this.timer.at <= at) return
    this.timer?.cancel()
    const cancel = this.world.clock.at(at, () => {
      this.timer = undefined
      this.moreInStore = true
      this.fill()
    })
    this.timer = { at, cancel }
  }

  private isIdle(): boolean {
    return this.active.size === 0 && this.ready.size === 0 && !this.moreInStore
  }

  private tellIdle(): void {
    if (!this.isIdle()) return
    for (const resolve of this.whenIdle.splice(0)) resolve()
  }

  /** SQLite cannot call across processes; a glance at a counter is as cheap as it gets. */
  private watchOtherProcesses(): void {
    const { store } = this.world
    let seen = store.changesByOthers()
    const glance = setInterval(() => {
      const now = store.changesByOthers()
      if (now === seen) return
      seen = now
      store.notifyAll()
      this.moreInStore = true
      this.fill()
    }, OTHERS_EVERY_MS)
    const purge = setInterval(() => void this.purge(), PURGE_EVERY_MS)
    this.housekeeping = [glance.unref(), purge.unref()]
  }

  private async purge(): Promise<void> {
    while ((await this.world.store.purgeExpired(BATCH)) === BATCH);
  }
}
