import { AsyncLocalStorage } from 'node:async_hooks'
import type { RunRecord } from '../ports.ts'
import { CancelledError, ForeignAwaitError, MisplacedCallError, NonDeterminismError, reviveError, StepError, TimeoutError } from './errors.ts'
import { EVENT_ROLE, type JournalEvent, OP_KIND } from './events.ts'
import { applyFact, type Delivery, type FactEvent, type Forgotten, type Journal } from './journal.ts'
import { throughJson } from './json.ts'
import { escapeName } from './names.ts'
import { Operation, type Request } from './operation.ts'
import { SeededRandom } from './random.ts'

/** How the code of a generation ended. */
export type CodeEnd = { kind: 'returned'; value: unknown } | { kind: 'threw'; error: unknown } | { kind: 'continued'; input: unknown }

/** Which step's body the current call stack belongs to, if any. */
export const insideStep = new AsyncLocalStorage<string | undefined>()

/**
 * Runs workflow code against a journal. Code moves only in *turns*: one delivery, then everything that follows
 * from it until the microtask queue is empty. Because a turn holds exactly one delivery, live and in replay, the
 * code calls its operations in the same order every time (I2).
 */
export class Replay {
  readonly run: RunRecord
  readonly journal: Journal
  private seeded: SeededRandom | undefined
  readonly operations = new Map<string, Operation>()
  /** Called and not yet looked at by the run loop. */
  fresh: Operation[] = []
  pending = 0
  end: CodeEnd | undefined
  /** Why this code cannot go on with this journal. */
  violation: Error | undefined
  /** The journal time of the last delivery. */
  now: number
  /** True until something happens that the journal does not know. */
  replaying: boolean
  /** Patch ids decided in this execution and not yet journaled. */
  newPatches: string[] = []
  stopRequested: Error | undefined
  private readonly repeats = new Map<string, number>()
  private inTurn = false
  private closed: string | undefined
  private lastDelivered = 'its start'

  constructor(run: RunRecord, journal: Journal) {
    this.run = run
    this.journal = journal
    this.now = journal.begunAt
    this.replaying = !journal.isEmpty
  }

  /** Most workflows want none of it. */
  get random(): SeededRandom {
    this.seeded ??= new SeededRandom(`${this.run.id}/${this.run.generation}`)
    return this.seeded
  }

  /** Starts the code and takes it through the whole journal. */
  async begin(code: () => Promise<unknown>): Promise<void> {
    await this.turn(() => {
      code().then(
        (value) => this.ended({ kind: 'returned', value }),
        (error: unknown) => this.ended({ kind: 'threw', error }),
      )
    })
    await this.deliverJournal()
    this.violation ??= this.findUnreached()
  }

  /** One live turn. */
  async deliver(event: Delivery, at: number): Promise<void> {
    this.replaying = false
    await this.turn(() => this.apply(event, at))
  }

  /** Registers an operation; every `ctx` method that waits ends here. */
  call(scope: string, name: string, request: Request): Operation {
    this.assertCallable(`ctx operation '${name}'`)
    const base = scope + escapeName(name)
    let id = base
    if (this.operations.has(base)) {
      const repeat = (this.repeats.get(base) ?? 0) + 1
      this.repeats.set(base, repeat)
      id = `${base}:${repeat}`
    }
    const facts = this.journal.facts.size > 0 ? this.journal.facts.get(id) : undefined
    if (facts && facts.kind !== request.kind) {
      this.violation ??= changedCode(this.run, `the journal has a ${facts.kind} '${id}'`, `the code calls a ${request.kind} of that name`, this.lastDelivered)
    }
    const operation = new Operation(id, request, facts, this.stopRequested === undefined)
    this.operations.set(id, operation)
    this.fresh.push(operation)
    this.pending++
    return operation
  }

  patched(id: string): boolean {
    this.assertCallable(`ctx.patched('${id}')`)
    if (this.journal.patches.has(id)) return true
    if (this.replaying) return false
    this.journal.patches.add(id)
    this.newPatches.push(id)
    return true
  }

  continueAsNew(input: unknown): Promise<never> {
    this.assertCallable('ctx.continueAsNew')
    this.ended({ kind: 'continued', input })
    return new Promise(() => {})
  }

  assertCallable(what: string): void {
    const step = insideStep.getStore()
    if (step !== undefined) {
      throw new MisplacedCallError(
        `${what} was called inside the body of step '${step}'. A body's effects are not replayed, so ctx cannot work there: call it in the workflow function, before or after the step`,
      )
    }
    if (this.closed !== undefined)
      throw new MisplacedCallError(`${what} was called after ${this.closed}. Await every operation before the workflow function returns`)
    if (!this.inTurn) {
      const error = new ForeignAwaitError(
        `workflow '${this.run.workflow}' called ${what} after it had awaited something that is not a ctx operation (a fetch, a timer, a file), somewhere after ${this.lastDelivered}. A replay cannot repeat that: move it into ctx.step`,
      )
      this.violation ??= error
      throw error
    }
  }

  /** After this the code may still be in memory, but nothing it does counts. */
  close(reason: string): void {
    this.closed = reason
  }

  /** The code waits and there is nothing of ours that it could wait for. */
  foreignAwait(): ForeignAwaitError {
    return new ForeignAwaitError(
      `workflow '${this.run.workflow}' awaits something that is not a ctx operation (a fetch, a timer, a promise nobody settles), after ${this.lastDelivered}. Nothing could wake the run, and a replay cannot repeat it: move it into ctx.step, or wait with ctx.sleep or ctx.waitFor`,
    )
  }

  private async turn(act: () => void): Promise<void> {
    // In a microtask, so that nextTick means: once the microtask queue has run empty.
    await null
    this.inTurn = true
    act()
    await new Promise<void>((resolve) => process.nextTick(resolve))
    this.inTurn = false
  }

  private ended(end: CodeEnd): void {
    this.end ??= end
  }

  /** The same turns as `deliver` makes, without a promise for each: most of a replay's time is spent here. */
  private deliverJournal(): Promise<void> {
    const { deliveries, times, forgotten } = this.journal
    let cursor = 0
    let undone = 0
    return new Promise((resolve) => {
      const next = () => {
        this.inTurn = false
        if (this.violation) return resolve()
        const recalled = forgotten[undone]?.at === cursor ? this.nextRecalled(forgotten[undone]!) : undefined
        if (recalled) return deliver(recalled.event, recalled.at)
        while (forgotten[undone]?.at === cursor) undone++
        if (cursor === deliveries.length) return resolve()
        if (this.end) {
          this.violation = changedCode(this.run, `the journal goes on with ${describe(deliveries[cursor]!)}`, 'the code had already ended', this.lastDelivered)
          return resolve()
        }
        cursor++
        deliver(deliveries[cursor - 1]!, times[cursor - 1]!)
      }
      const deliver = (event: Delivery, at: number) => {
        this.inTurn = true
        this.apply(event, at)
        queueMicrotask(afterMicrotasks)
      }
      const afterMicrotasks = () => process.nextTick(next)
      queueMicrotask(afterMicrotasks)
    })
  }

  /**
   * Replay has come to a failure that an operator undid. What followed from it is forgotten. What happened beside it
   * stands, and is known by this: when its turn comes, the code has called for it.
   */
  private nextRecalled(undone: Forgotten): { event: Delivery; at: number } | undefined {
    for (let next = undone.events.shift(); next && !this.end; next = undone.events.shift()) {
      const { event, at } = next
      const operation = 'id' in event ? this.operations.get(event.id) : undefined
      if (!operation || operation.settled) continue
      if (isDelivery(event)) return { event, at }
      if (EVENT_ROLE[event.type] === 'fact') operation.facts = applyFact(operation.facts ?? { kind: operation.kind, failures: 0 }, event as FactEvent)
    }
    return undefined
  }

  private apply(event: Delivery, at: number): void {
    this.now = at
    if (event.type === 'run.cancelRequested') return this.stopWaits(new CancelledError(event.reason ?? `run '${this.run.id}' was cancelled`))
    if (event.type === 'run.timedOut') return this.stopWaits(new TimeoutError(`run '${this.run.id}' took longer than the timeout of its workflow`))
    const operation = this.operations.get(event.id)
    if (!operation) {
      this.violation = this.unreached(event)
      return
    }
    if (operation.settled) return
    const kind = OP_KIND[event.type]
    if (kind !== operation.kind) {
      this.violation = changedCode(this.run, `the journal has a ${kind} '${event.id}'`, `the code calls a ${operation.kind} of that name`, this.lastDelivered)
      return
    }
    this.lastDelivered = describe(event)
    this.pending--
    settle(operation, event)
  }

  /** Waits end with the error; steps end by themselves, because only their bodies know what they did. */
  private stopWaits(error: Error): void {
    this.stopRequested ??= error
    for (const operation of this.operations.values()) {
      if (operation.settled || operation.kind === 'step') continue
      this.pending--
      operation.reject(error)
    }
  }

  private findUnreached(): Error | undefined {
    for (const [id, facts] of this.journal.facts) {
      if (!this.operations.has(id)) return this.unreached({ id, kind: facts.kind })
    }
    return undefined
  }

  private unreached(journaled: Delivery | { id: string; kind: string }): NonDeterminismError {
    const expected = 'type' in journaled ? describe(journaled) : `${journaled.kind} '${journaled.id}'`
    const waiting = [...this.operations.values()].filter((operation) => !operation.settled).map((operation) => `${operation.kind} '${operation.id}'`)
    const got = this.end
      ? 'the code had already ended'
      : waiting.length > 0
        ? `the code waits for ${waiting.slice(0, 5).join(', ')}`
        : 'the code waits for nothing'
    return changedCode(this.run, `the journal goes on with ${expected}`, got, this.lastDelivered)
  }
}

function isDelivery(event: JournalEvent): event is Delivery {
  return EVENT_ROLE[event.type] === 'settles'
}

type OperationDelivery = Extract<Delivery, { id: string }>

/** The code gets copies: what it does to them must not reach the journal, nor another replay of it. */
function settle(operation: Operation, event: OperationDelivery): void {
  switch (event.type) {
    case 'step.completed':
    case 'callback.completed':
    case 'child.completed':
    case 'task.completed':
      return operation.resolve(throughJson(event.result))
    case 'sleep.completed':
    case 'wait.timedOut':
      return operation.resolve(undefined)
    case 'wait.completed':
      return operation.resolve(throughJson(event.payload))
    case 'callback.failed':
    case 'child.failed':
      return operation.reject(reviveError(event.error))
    case 'step.failed':
    case 'task.failed': {
      const cause = reviveError(event.error)
      return operation.reject(cause instanceof CancelledError ? cause : new StepError(event.id, event.attempt, cause))
    }
  }
}

function describe(event: Delivery): string {
  return 'id' in event ? `${OP_KIND[event.type]} '${event.id}'` : event.type === 'run.timedOut' ? 'the timeout of the run' : 'the cancellation of the run'
}

function changedCode(run: RunRecord, expected: string, got: string, where: string): NonDeterminismError {
  return new NonDeterminismError(
    `the code of workflow '${run.workflow}' (version ${run.version}) does not fit the journal of run '${run.id}': after ${where}, ${expected}, but ${got}. ` +
      `The run is parked and nothing is lost. Restore the old order for runs under way (give the changed code a new version, or guard it with ctx.patched), deploy, and retry the run`,
  )
}
