import { AsyncLocalStorage } from 'node:async_hooks'
import type { Frame } from '../../sdk/engine/events.ts'
import { SeededRandom } from '../../sdk/engine/random.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import type { AnyWorkflow } from '../../sdk/index.ts'
import type { Clock, Commit, CommitResult, RunStore, Wake, World } from '../../sdk/ports.ts'
import { Runs } from '../../sdk/rules/run-store.ts'
import { seededIds, VirtualClock } from '../../sdk/testing/index.ts'
import { Registry } from '../../sdk/workflow.ts'
import { Bulletin } from '../../sdk/worlds/local/bulletin.ts'
import { Database } from '../../sdk/worlds/local/database.ts'
import { SqliteDocuments } from '../../sdk/worlds/local/documents.ts'
import { SqliteStorage } from '../../sdk/worlds/local/storage.ts'
import { SqliteTaskStore } from '../../sdk/worlds/local/tasks.ts'
import type { Mutant } from './mutants.ts'
import { MOST_BLOWS, type Trouble } from './trouble.ts'

export const START = Date.parse('2026-01-01T00:00:00Z')
const LEASE_MS = 10_000
const SWEEP_EVERY_MS = 20_000
const OBSERVER = 0

/** A process: a Lambda invocation, say. It has a clock of its own and may die at any call. */
export interface Process {
  id: number
  isAlive: boolean
  clock: Clock
}
const currentProcess = new AsyncLocalStorage<Process>()

/**
 * A cloud in memory: one store, a queue of wake-ups, a sweeper, and as many processes as messages arrive. Which of
 * their calls fail, and how, follows from the seed alone.
 */
export class Cloud {
  readonly clock = new VirtualClock(START)
  readonly db = new Database(':memory:')
  readonly failures: string[] = []
  /** Called when a run has handed out tasks. */
  onDispatch: (() => void) | undefined
  /** Every frame the store said yes to, as it was then. */
  readonly acknowledged = new Map<string, string>()
  private readonly random: SeededRandom
  private readonly trouble: Trouble
  private readonly mutant: Mutant | undefined
  private readonly registry: Registry
  private readonly ids
  /** How often processes have called the store. */
  calls = 0
  private blows = 0
  private processes = 0

  constructor(seed: string, trouble: Trouble, workflows: (cloud: Cloud) => AnyWorkflow[], mutant?: Mutant) {
    this.random = new SeededRandom(`trouble ${seed}`)
    this.ids = seededIds(seed)
    this.trouble = trouble
    this.mutant = mutant
    this.registry = new Registry(workflows(this))
    this.sweepForever()
  }

  /** A process without trouble, for the test itself. */
  observer(): World {
    return this.worldOf({ id: OBSERVER, isAlive: true, clock: this.clock }, new Runs(this.storageOf(this.clock)))
  }

  /** A process that may fail at any call. */
  client(): { world: World; process: Process } {
    const process = this.newProcess()
    return { world: this.worldOf(process, this.faulty(process)), process }
  }

  get workflows(): Registry {
    return this.registry
  }

  /** The process whose code is running. */
  process(): Process {
    return currentProcess.getStore()!
  }

  /** A wait in virtual time that dies with its process. */
  delay(ms: number, process: Process): Promise<void> {
    return new Promise((resolve) => {
      this.clock.at(this.clock.now() + ms, () => {
        if (process.isAlive) resolve()
      })
    })
  }

  /** Lets everything happen that can happen now, then moves to the next moment. False when there is none. */
  async step(): Promise<boolean> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const next = this.clock.next()
    if (next === undefined) return false
    this.clock.moveTo(next)
    return true
  }

  private storageOf(clock: Clock): SqliteStorage {
    return new SqliteStorage(this.db, clock, new Bulletin(this.db))
  }

  private newProcess(): Process {
    const skew = this.trouble.skew === 0 ? 0 : Math.round((this.random.next() - 0.5) * this.trouble.skew)
    const clock: Clock = { now: () => this.clock.now() + skew, at: (time, callback) => this.clock.at(time - skew, callback) }
    return { id: ++this.processes, isAlive: true, clock }
  }

  private worldOf(process: Process, store: RunStore): World {
    return {
      store,
      documents: this.spoilt(process, new SqliteDocuments(this.db, process.clock)),
      tasks: this.spoilt(process, new SqliteTaskStore(this.db, process.clock, this.storageOf(process.clock))),
      wakeups: {
        send: async (wakes) => {
          if (this.dies(process)) return NEVER
          for (const wake of wakes) this.post(wake)
          if (this.dies(process)) return NEVER
        },
      },
      clock: process.clock,
      ids: this.ids,
      log: () => {},
      inlineWaitMs: 1_000,
    }
  }

  /** The queue: messages get lost, repeated, late, and so out of order. */
  private post(wake: Wake): void {
    if (this.strikes(this.trouble.loseWake)) return
    const copies = this.strikes(this.trouble.repeatWake) ? 2 : 1
    for (let i = 0; i < copies; i++) {
      const late = this.strikes(this.trouble.lateWake) ? this.random.next() * 45_000 : this.random.next() * 300
      this.clock.at(Math.max(wake.at, this.clock.now()) + Math.round(late), () => this.invoke(wake.runId))
    }
  }

  private invoke(runId: string): void {
    const process = this.newProcess()
    const world = this.worldOf(process, this.faulty(process))
    currentProcess.run(process, () => {
      runOnce(world, this.registry, runId, { lease: { owner: `process-${process.id}`, ms: LEASE_MS } }).then(
        () => {
          process.isAlive = false
        },
        (error: unknown) => this.failures.push(`a runner threw: ${error instanceof Error ? error.stack : error}`),
      )
    })
  }

  private sweepForever(): void {
    const store = new Runs(this.storageOf(this.clock))
    const sweep = async () => {
      for (const wake of await store.overdue(this.clock.now() - this.trouble.skew, 1_000)) this.post(wake)
      this.clock.at(this.clock.now() + SWEEP_EVERY_MS, sweep)
    }
    this.clock.at(this.clock.now() + SWEEP_EVERY_MS, sweep)
  }

  private faulty(process: Process): RunStore {
    let store: RunStore = new Runs(this.storageOf(process.clock))
    if (this.mutant) store = this.mutant(store, { db: this.db, clock: this.clock, isAlive: () => process.isAlive })
    return this.spoilt(process, store)
  }

  private spoilt<S extends object>(process: Process, store: S): S {
    return new Proxy(store, {
      get: (target, property) => {
        const method: unknown = Reflect.get(target, property, target)
        if (typeof method !== 'function' || property === 'refusal') return method
        // Watching is a convenience of one process; others get no hint, as on AWS.
        if (property === 'watch') return () => () => {}
        return async (...args: unknown[]) => {
          const call = this.calls++
          if (this.dies(process, call, 'before')) return NEVER
          await this.travel(process)
          const result: unknown = await Reflect.apply(method, target, args)
          if (property === 'commit') this.noteCommit(args[0] as Commit, result as CommitResult)
          await this.travel(process)
          return this.dies(process, call, 'after') ? NEVER : result
        }
      },
    })
  }

  /** Calls take their time; some take so long that the lease is over, and much else with it. */
  private async travel(process: Process): Promise<void> {
    if (this.strikes(this.trouble.stall)) await this.delay(Math.round(LEASE_MS * (0.5 + this.random.next() * 6)), process)
    else if (this.trouble.latency > 0) await this.delay(Math.round(this.random.next() * this.trouble.latency), process)
  }

  private noteCommit(commit: Commit, result: CommitResult): void {
    if (!result.ok || !commit.frame) return
    const slot = slotKey(commit.runId, commit.frame)
    if (this.acknowledged.has(slot)) this.failures.push(`I1: slot ${slot} was written twice`)
    this.acknowledged.set(slot, JSON.stringify(commit.frame.events))
    if (commit.outgoing?.some(({ kind }) => kind === 'dispatch')) this.onDispatch?.()
  }

  private dies(process: Process, call?: number, when?: 'before' | 'after'): boolean {
    if (process.id === OBSERVER) return false
    const { crash, crashAt } = this.trouble
    if (crashAt && call === crashAt.call && when === crashAt.when) process.isAlive = false
    else if (process.isAlive && this.strikes(crash)) process.isAlive = false
    return !process.isAlive
  }

  private strikes(probability: number): boolean {
    if (probability === 0 || this.blows >= MOST_BLOWS || this.random.next() >= probability) return false
    this.blows++
    return true
  }
}

export function slotKey(runId: string, frame: Pick<Frame, 'seq'>): string {
  return `${runId} #${frame.seq}`
}

const NEVER = new Promise<never>(() => {})
