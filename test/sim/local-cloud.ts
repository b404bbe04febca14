import { runOnce } from '../../sdk/engine/run-loop.ts'
import type { Admission } from '../../sdk/flow/admission.ts'
import { flowControl } from '../../sdk/flow/control.ts'
import { limiterKey, limitersOf, queueOf } from '../../sdk/flow/limiter/limiter.ts'
import { readEntry } from '../../sdk/flow/limiter/queue.ts'
import type { Message, Waiting } from '../../sdk/ports/run.ts'
import type { RunStore } from '../../sdk/ports/run-store.ts'
import type { Clock, Wake, World } from '../../sdk/ports/world.ts'
import { Runs } from '../../sdk/rules/run-store.ts'
import type { Storage } from '../../sdk/rules/storage.ts'
import { seededIds, VirtualClock } from '../../sdk/testing/index.ts'
import { Registry } from '../../sdk/workflow.ts'
import { ChangeNotifier } from '../../sdk/worlds/local/change-notifier.ts'
import { Database } from '../../sdk/worlds/local/database.ts'
import { DocumentRows, SqliteDocuments } from '../../sdk/worlds/local/documents.ts'
import { SqliteStorage } from '../../sdk/worlds/local/storage.ts'
import { nextLook, tasksToLookAt } from '../../sdk/worlds/local/task-rows.ts'
import { SqliteTaskStore } from '../../sdk/worlds/local/tasks.ts'
import {
  type Cloud,
  type CloudOptions,
  currentProcess,
  delay,
  LEASE_MS,
  Ledger,
  lifeOf,
  type Process,
  START,
} from './cloud.ts'
import { localStored, notingClaims, type Stored } from './flow/stored.ts'
import { Fortune } from './fortune.ts'
import type { Mutant } from './mutants.ts'
import { LONG_MS, overlooked } from './overlooked.ts'
import { noting } from './spies.ts'
import { Sweeper } from './sweeper.ts'
import type { Trouble } from './trouble.ts'
import { CHORE } from './workers.ts'

const SWEEP_EVERY_MS = 20_000
const OBSERVER = 0

interface LocalProcess extends Process {
  isAlive: boolean
  heldUpUntil: number
}

/** So many processes share the file, where they stay. */
const MOST_THAT_STAY = 3

/** The SQLite world: one store, a queue of wake-ups, and a process for each message. */
export class LocalCloud implements Cloud {
  readonly clock = new VirtualClock(START)
  readonly ledger = new Ledger()
  readonly failures: string[] = []
  onDispatch: (() => void) | undefined
  /** How often processes have called the store. */
  calls = 0
  readonly stored: Stored
  private readonly db = new Database(':memory:')
  private readonly fortune: Fortune
  private readonly trouble: Trouble
  private readonly mutant: Mutant | undefined
  private readonly codes: Registry[]
  private readonly ids
  private readonly sweeper: Sweeper
  private processes = 0
  private readonly processesStay: boolean
  private staying: { process: LocalProcess; world: World }[] = []

  constructor({ seed, trouble, deployments, mutant, laziestSweepMs = 600_000, processesStay = false }: CloudOptions) {
    this.processesStay = processesStay
    this.stored = localStored(this.db)
    this.fortune = new Fortune(`trouble ${seed}`)
    this.ids = seededIds(seed)
    this.trouble = trouble
    this.mutant = mutant
    this.codes = deployments(this).map((workflows) => new Registry(workflows))
    const store = new Runs(this.storageOf(this.clock))
    this.sweeper = new Sweeper(this.clock, { everyMs: SWEEP_EVERY_MS, laziestMs: laziestSweepMs }, async () => {
      for (const wake of await store.overdue(this.clock.now() - trouble.skew, 1_000)) this.post(wake)
      await this.checkLimiters()
    })
  }

  get blows(): number {
    return this.fortune.blows
  }

  get workflows(): Registry {
    return this.codes[this.codeOfNow()]!
  }

  calm(): void {
    this.fortune.calm()
  }

  observer(): World {
    const process = {
      id: OBSERVER,
      isAlive: true,
      clock: this.clock,
      code: 0,
      heldUpUntil: 0,
      claims: new Map(),
      kill: () => {},
    }
    return this.worldOf(process, this.storageOf(this.clock), new Runs(this.storageOf(this.clock)))
  }

  client(): { world: World; process: Process } {
    this.sweeper.stir()
    const process = this.newProcess()
    return { world: this.worldOf(process, ...this.faulty(process)), process }
  }

  insider(): { world: World; process: Process } | undefined {
    return this.staying.findLast(({ process }) => process.isAlive)
  }

  runIds(which: 'all' | 'open'): string[] {
    return this.db
      .rows(`SELECT id FROM runs ${which === 'open' ? 'WHERE ended_at IS NULL' : ''} ORDER BY key`)
      .map(({ id }) => id as string)
  }

  nextTask(): number | undefined {
    const now = this.clock.now()
    return tasksToLookAt(this.db, [CHORE], 1, now).length > 0 ? now : nextLook(this.db, [CHORE], now)
  }

  /** A run that is not stuck is due some time, unless it waits for a message only, which has not come. */
  complaints(): string[] {
    const still = this.db.rows(
      `SELECT id, status FROM runs WHERE ended_at IS NULL AND wake_at IS NULL AND status NOT IN ('waiting', 'stuck', 'queued')`,
    )
    const problems = still.map(({ id, status }) => `run '${id}' is ${status} and nothing will ever move it`)
    problems.push(...this.forgottenInLine())
    const now = this.clock.now()
    const asleep = this.db.rows(
      `SELECT key, id, waiting FROM runs WHERE status IN ('waiting', 'sleeping') AND lease_until IS NULL AND coalesce(wake_at, ?) > ? AND stimulus > 0`,
      now + 1,
      now,
    )
    for (const { key, id, waiting } of asleep) {
      const rows = this.db.rows(
        'SELECT body FROM inbox WHERE run = ? AND body IS NOT NULL AND at < ?',
        key!,
        now - LONG_MS,
      )
      const messages = rows.map(({ body }) => JSON.parse(body as string) as Message)
      for (const what of overlooked(JSON.parse((waiting as string | null) ?? '[]') as Waiting[], messages))
        problems.push(`run '${id}': I6: it waits for ${what}, which came long ago, and nobody will look at it`)
    }
    return problems
  }

  /** I10: a queued run is in a queue, and its limiter is due at some time. */
  private forgottenInLine(): string[] {
    return this.db
      .rows(`SELECT id, admission, coalesce(passed, 0) AS passed FROM runs WHERE status = 'queued'`)
      .flatMap(({ id, admission, passed }) => {
        const { gates } = JSON.parse(admission as string) as Admission
        const gate = gates[passed as number]!
        const documents = new DocumentRows(this.db, this.clock)
        const isDue = documents.get(limitersOf(gate.limit), limiterKey(gate))?.dueAt !== undefined
        const isQueued = documents.list(queueOf(gate)).some(({ value }) => readEntry(value).holder === id)
        return isQueued && isDue
          ? []
          : [
              `run '${id}' is queued, ${isQueued ? 'its limiter is not due' : 'not in a queue'}, and nothing will ever move it`,
            ]
      })
  }

  nextMoment(): number | undefined {
    return this.clock.next()
  }

  async step(): Promise<boolean> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const next = this.clock.next()
    if (next === undefined) return false
    this.clock.moveTo(next)
    return true
  }

  private codeOfNow(): number {
    return this.clock.now() >= START + this.trouble.deployAfter ? this.codes.length - 1 : 0
  }

  private storageOf(clock: Clock): SqliteStorage {
    return new SqliteStorage(this.db, clock, new ChangeNotifier(this.db), new DocumentRows(this.db, clock))
  }

  private newProcess(): LocalProcess {
    const skew = this.fortune.skew(this.trouble.skew)
    const clock: Clock = {
      now: () => this.clock.now() + skew,
      at: (time, callback) => this.clock.at(time - skew, callback),
    }
    // Old processes live on for a while beside new ones.
    const isLeftOver =
      this.codes.length > 1 &&
      this.clock.now() < START + this.trouble.deployAfter + this.trouble.deployTakes &&
      this.fortune.isHeads()
    const process: LocalProcess = {
      id: ++this.processes,
      isAlive: true,
      clock,
      code: isLeftOver ? 0 : this.codeOfNow(),
      heldUpUntil: 0,
      claims: new Map(),
      kill: () => {
        process.isAlive = false
      },
    }
    return process
  }

  private worldOf(process: LocalProcess, storage: Storage, store: RunStore): World {
    const documents = new SqliteDocuments(this.db, new DocumentRows(this.db, process.clock))
    return {
      store,
      documents: this.spoilt(process, this.mutant?.documents?.(documents) ?? documents),
      tasks: this.spoilt(process, new SqliteTaskStore(this.db, process.clock, storage as SqliteStorage)),
      wakeups: {
        send: async (wakes) => {
          if (this.dies(process)) return forever()
          for (const wake of wakes) this.post(wake)
          if (this.dies(process)) return forever()
        },
      },
      clock: process.clock,
      ids: this.ids,
      log: () => {},
      inlineWaitMs: 1_000,
      flow: flowControl,
    }
  }

  /** The queue: messages get lost, repeated, late, and so out of order. */
  private post(wake: Wake): void {
    if (this.fortune.strikes(this.trouble.loseWake)) return
    const copies = this.fortune.strikes(this.trouble.repeatWake) ? 2 : 1
    for (let i = 0; i < copies; i++) {
      const late = this.fortune.strikes(this.trouble.lateWake) ? this.fortune.within(45_000) : this.fortune.within(300)
      this.clock.at(Math.max(wake.at, this.clock.now()) + late, () => this.invoke(wake.runId))
    }
  }

  private invoke(runId: string): void {
    this.sweeper.stir()
    const { process, world } = this.processFor()
    currentProcess.run(process, () => {
      runOnce(world, this.codes[process.code]!, runId, {
        lease: { owner: `process-${process.id}`, ms: LEASE_MS },
        unknownDelayMs: 5_000,
      }).then(
        () => this.processesStay || process.kill(),
        (error: unknown) => this.failures.push(`a runner threw: ${error instanceof Error ? error.stack : error}`),
      )
    })
  }

  /** What a runner does whenever it looks for what is due: in one of the processes, which may die of it. */
  private async checkLimiters(): Promise<void> {
    const { process, world } = this.processFor()
    const { wakes, failures } = await currentProcess.run(process, () =>
      world.store.checkLimiters(process.clock.now(), 1_000),
    )
    for (const { error } of failures)
      this.failures.push(`a limiter could not be checked: ${error instanceof Error ? error.stack : error}`)
    await world.wakeups.send(wakes)
    if (!this.processesStay) process.kill()
  }

  private processFor(): { process: LocalProcess; world: World } {
    this.staying = this.staying.filter(({ process }) => process.isAlive)
    if (this.staying.length > 0 && (this.staying.length === MOST_THAT_STAY || this.fortune.isHeads(0.7)))
      return this.staying[this.fortune.within(this.staying.length - 1)]!
    const process = this.newProcess()
    const made = { process, world: this.worldOf(process, ...this.faulty(process)) }
    if (this.processesStay) this.staying.push(made)
    return made
  }

  private faulty(process: LocalProcess): [Storage, RunStore] {
    const plain: Storage = this.storageOf(process.clock)
    const planted = this.mutant?.storage?.(plain) ?? plain
    const storage = noting(planted, this.ledger, (run, frame) => {
      const problem = this.ledger.write(lifeOf(run), frame, this.clock.now())
      if (problem) this.failures.push(problem)
    })
    const store = new Runs(storage)
    const alive = () => process.isAlive
    const replaced = this.mutant?.store?.(store, { clock: this.clock, isAlive: alive }) ?? store
    return [storage, this.spoilt(process, this.processesStay ? notingClaims(replaced, process.claims) : replaced)]
  }

  private spoilt<S extends object>(process: LocalProcess, store: S): S {
    return new Proxy(store, {
      get: (target, property) => {
        const method: unknown = Reflect.get(target, property, target)
        if (typeof method !== 'function' || property === 'refusal') return method
        // Watching is a convenience of one process; others get no hint, as on AWS.
        if (property === 'watch' || property === 'watchReply') return () => () => {}
        return async (...args: unknown[]) => {
          const call = this.calls++
          if (this.dies(process, call, 'before')) return forever()
          await this.travel(process)
          const result: unknown = await Reflect.apply(method, target, args)
          if (property === 'commit') this.onDispatch?.()
          await this.travel(process)
          return this.dies(process, call, 'after') ? forever() : result
        }
      },
    })
  }

  /** Calls take their time; some take so long that the lease is over, and much else with it. */
  private async travel(process: LocalProcess): Promise<void> {
    if (process.id === OBSERVER) return
    if (this.fortune.strikes(this.trouble.stall)) {
      const ms = this.fortune.between(LEASE_MS / 2, LEASE_MS * 6)
      process.heldUpUntil = Math.max(process.heldUpUntil, this.clock.now() + ms)
      await delay(ms, process)
    } else if (this.trouble.latency > 0) await delay(this.fortune.within(this.trouble.latency), process)
  }

  private dies(process: LocalProcess, call?: number, when?: 'before' | 'after'): boolean {
    if (process.id === OBSERVER) return false
    const { crash, crashAt } = this.trouble
    if (crashAt && call === crashAt.call && when === crashAt.when) process.isAlive = false
    else if (process.isAlive && this.fortune.strikes(crash)) process.isAlive = false
    return !process.isAlive
  }
}

/** A new one each time: what waits for a promise is kept as long as the promise is. */
const forever = () => new Promise<never>(() => {})
