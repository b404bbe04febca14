import { asError } from '../base/error-records.ts'
import {
  CancelledError,
  type ForeignAwaitError,
  foreignAwait,
  foreignCall,
  MisplacedCallError,
  mismatch,
  type NonDeterminismError,
  TimeoutError,
} from '../base/errors.ts'
import { type Delivery, describeDelivery, type JournalEvent, opKindOf } from '../base/events.ts'
import { escapeName } from '../base/names.ts'
import { SeededRandom } from '../base/random.ts'
import type { RunRecord } from '../ports/run.ts'
import type { Branch } from './branch.ts'
import { Groups } from './groups.ts'
import type { Journal } from './journal.ts'
import type { SignalMessage } from './mailbox.ts'
import { type Journaled, offTheJournal } from './off-the-journal.ts'
import { Operation, type Request } from './operation.ts'
import { Origins } from './origins.ts'
import { Recall } from './recall.ts'
import { Requests } from './requests.ts'
import { running } from './running.ts'
import { settle } from './settlement.ts'

/** How the code of a generation ended. */
export type CodeEnd =
  | { kind: 'returned'; value: unknown }
  | { kind: 'threw'; error: Error }
  | { kind: 'continued'; input: unknown }

/**
 * Runs workflow code against a journal. Code moves only in *turns*: one delivery, then everything that follows
 * from it until the microtask queue is empty. Because a turn holds exactly one delivery, live and in replay, the
 * code calls its operations in the same order every time (I2).
 */
export class Replay {
  readonly run: RunRecord
  readonly journal: Journal
  readonly operations = new Map<string, Operation>()
  private readonly onStray: () => void
  private readonly repeats = new Map<string, number>()
  readonly origins = new Origins()
  readonly groups = new Groups(this)
  readonly requests = new Requests(this)
  private seeded: SeededRandom | undefined
  private draws = 0
  private fresh: Operation[] = []
  private notes: JournalEvent[] = []
  private recall: Recall | undefined
  private open = 0
  private ending: CodeEnd | undefined
  /** What the code threw before its compensations began. */
  failure: Error | undefined
  private wrong: Error | undefined
  private time: number
  private isReplaying: boolean
  private readonly stops: Error[] = []
  private turns = 0
  private delivered = 0
  private inTurn = false
  private closed: string | undefined
  private lastSettledBy: Delivery | undefined
  private lastCalled = ''
  /** Operations of the journal that the code has called. */
  private reached = 0

  /** `onStray` is called when the code has moved without a delivery. */
  constructor(run: RunRecord, journal: Journal, onStray: () => void = () => {}) {
    this.run = run
    this.journal = journal
    this.onStray = onStray
    this.time = journal.begunAt
    this.isReplaying = !journal.isEmpty
  }

  /** For error messages. Worked out when one is made. */
  private get lastDelivered(): string {
    return this.lastSettledBy ? describeDelivery(this.lastSettledBy) : 'its start'
  }

  /** Operations called and not settled. */
  get pending(): number {
    return this.open
  }

  get end(): CodeEnd | undefined {
    return this.ending
  }

  /** Why this code cannot go on with this journal. */
  get violation(): Error | undefined {
    return this.wrong
  }

  /** The journal time of the last delivery. */
  get now(): number {
    return this.time
  }

  /** True until something happens that the journal does not know. */
  get replaying(): boolean {
    return this.isReplaying
  }

  /** The error of the last request to stop the run. */
  get stopRequested(): Error | undefined {
    return this.stops.at(-1)
  }

  /** How often the run was asked to stop. */
  get stopsRequested(): number {
    return this.stops.length
  }

  /** The code has called operations that are not open yet. */
  get hasFresh(): boolean {
    return this.fresh.length > 0
  }

  /** Operations called since the last time. */
  takeFresh(): Operation[] {
    const { fresh } = this
    if (fresh.length > 0) this.fresh = []
    return fresh
  }

  /** What the code has decided since the last time, for the journal. */
  takeNotes(): JournalEvent[] {
    const { notes } = this
    if (notes.length > 0) this.notes = []
    return notes
  }

  /** Signals whose waits an operator undid: other waits may take them now. */
  takeReturned(): SignalMessage[] {
    return this.recall?.takeReturned() ?? []
  }

  /** Starts the code and takes it through the whole journal. */
  async begin(code: () => Promise<unknown>): Promise<void> {
    await this.turn(() => {
      code().then(
        (value) => this.ended({ kind: 'returned', value }),
        (thrown: unknown) => this.ended({ kind: 'threw', error: asError(thrown) }),
      )
    })
    await this.deliverJournal()
    this.wrong ??= this.findUnreached()
  }

  /** One live turn. */
  deliver(event: Delivery, at: number): Promise<void> {
    this.isReplaying = false
    return this.turn(() => {
      this.delivered++
      this.apply(event, at)
    })
  }

  /** Registers an operation; every `ctx` method that waits ends here. */
  call(scope: string, name: string, request: Request, isCleanUp = false, branch?: Branch): Operation {
    if (!this.isCallable) this.assertCallable(`ctx operation '${name}'`)
    const base = scope + escapeName(name)
    if (branch?.isWithdrawn) return new Operation(base, request, undefined, this.turns, 0)
    let id = base
    if (this.operations.has(base)) {
      const repeat = (this.repeats.get(base) ?? 0) + 1
      this.repeats.set(base, repeat)
      id = `${base}:${repeat}`
    }
    const facts = this.journal.facts.size > 0 ? this.journal.facts.get(id) : undefined
    if (facts) this.reached++
    if (facts && facts.kind !== request.kind) {
      this.wrong ??= mismatch(
        this.run,
        `its history has a ${facts.kind} '${id}'`,
        `the code calls a ${request.kind} of that name`,
        this.lastDelivered,
      )
    }
    if (facts?.inputDigest !== undefined) this.checkInput(id, request, facts.inputDigest)
    const operation = new Operation(
      id,
      request,
      facts,
      this.turns,
      isCleanUp ? Number.POSITIVE_INFINITY : this.stops.length,
    )
    this.operations.set(id, operation)
    branch?.note(operation)
    this.fresh.push(operation)
    this.open++
    this.lastCalled = id
    this.draws = 0
    return operation
  }

  /** Settles an operation that has nothing to wait for. */
  settleAtOnce(operation: Operation, value: unknown): void {
    this.open--
    operation.resolve(value)
  }

  /**
   * True where a patch is in force at this point of the run. Once in force it stays so; earlier calls keep their
   * answer.
   */
  patched(id: string): boolean {
    this.assertCallable(`ctx.patched('${id}')`)
    const since = this.journal.patches.get(id)
    if (since !== undefined) return this.delivered >= since
    if (this.isReplaying) return false
    this.journal.patches.set(id, this.delivered)
    this.notes.push({ type: 'patch', id })
    return true
  }

  /** What the code has decided, for the journal. */
  note(event: JournalEvent): void {
    this.notes.push(event)
  }

  /** The code does not go the way of the journal. */
  disagree(expected: string, got: string): void {
    this.wrong ??= mismatch(this.run, expected, got, this.lastDelivered)
  }

  /** A race or map has gone on without these operations. */
  withdraw(operations: readonly Operation[]): void {
    for (const operation of operations) operation.withdraw()
    this.open -= operations.length
  }

  continueAsNew(input: unknown): Promise<never> {
    this.assertCallable('ctx.continueAsNew')
    this.ended({ kind: 'continued', input })
    return new Promise(() => {})
  }

  /** The same numbers on every replay. Numbers drawn between two operations depend on the first of the two alone. */
  random(): SeededRandom {
    const { id, generation } = this.journal.origin ?? this.run
    const seed = `${id}/${generation}`
    if (this.run.format === 1) return (this.seeded ??= new SeededRandom(seed))
    return new SeededRandom(`${seed}/${this.lastCalled}#${this.draws++}`)
  }

  /** Read at every operation of every replay: the error message is made only where there is an error. */
  private get isCallable(): boolean {
    return this.inTurn && this.closed === undefined && running.getStore()?.step === undefined
  }

  assertCallable(what: string): void {
    const step = running.getStore()?.step
    if (step !== undefined) {
      throw new MisplacedCallError(
        `${what} was called inside the body of step '${step}'. Of a step only the result is recorded, so ctx cannot ` +
          'work inside one: call it in the workflow function, before or after the step',
      )
    }
    if (this.closed !== undefined)
      throw new MisplacedCallError(
        `${what} was called after ${this.closed}. Await every operation before the workflow function returns`,
      )
    if (!this.inTurn) {
      const error = foreignCall(this.run, what, this.lastDelivered)
      this.wrong ??= error
      throw error
    }
  }

  /** After this the code may still be in memory, but nothing it does counts. */
  close(reason: string): void {
    this.closed = reason
  }

  /**
   * Drops promises and events. Code that waits for ever may keep this object alive until the next full garbage
   * collection, and must not keep thousands of them with it.
   */
  free(): void {
    this.operations.clear()
    this.fresh = []
    this.journal.free()
  }

  /** The code waits, and no operation of ctx is open that it could wait for. */
  foreignAwait(): ForeignAwaitError {
    return foreignAwait(this.run, this.lastDelivered)
  }

  /** One promise a turn: async functions would make four, and every step of every run has a turn. */
  private turn(act: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.inTurn = false
        resolve()
      }
      const begin = () => {
        this.turns++
        this.inTurn = true
        try {
          act()
        } catch (error) {
          return reject(error)
        }
        process.nextTick(end)
      }
      // In a microtask, so that nextTick means: once the microtask queue has run empty.
      void SETTLED.then(begin)
    })
  }

  private ended(end: CodeEnd): void {
    if (this.closed !== undefined) return
    if (!this.inTurn) {
      // No delivery has moved the code: a foreign promise won a race.
      this.wrong ??= this.foreignAwait()
      return this.onStray()
    }
    this.ending ??= end
  }

  /** The same turns as `deliver` makes, without a promise for each: most of a replay's time is spent here. */
  private deliverJournal(): Promise<void> {
    const { deliveries, times, forgotten } = this.journal
    let undone = 0
    return new Promise((resolve) => {
      const next = () => {
        this.inTurn = false
        if (this.wrong) return resolve()
        // A run that failed again in the place where it was retried has several of them in one place.
        for (; forgotten[undone]?.at === this.delivered; undone++) {
          const recalled = (this.recall ??= new Recall(this)).next(forgotten[undone]!)
          if (recalled) return deliver(recalled.event, recalled.at)
        }
        const cursor = this.delivered
        if (cursor === deliveries.length) return resolve()
        if (this.ending) {
          this.wrong = this.unreached(deliveries[cursor]!)
          return resolve()
        }
        this.delivered++
        deliver(deliveries[cursor]!, times[cursor]!)
      }
      const deliver = (event: Delivery, at: number) => {
        this.turns++
        this.inTurn = true
        this.apply(event, at)
        void SETTLED.then(afterMicrotasks)
      }
      const afterMicrotasks = () => process.nextTick(next)
      void SETTLED.then(afterMicrotasks)
    })
  }

  private apply(event: Delivery, at: number): void {
    this.time = at
    if (event.type === 'run.cancelRequested')
      return this.stopWaits(new CancelledError(event.reason ?? `run '${this.run.id}' was cancelled`))
    if (event.type === 'run.timedOut')
      return this.stopWaits(new TimeoutError(`run '${this.run.id}' took longer than the timeout of its workflow`))
    const operation = this.operations.get(event.id)
    if (!operation) {
      if (this.groups.isGone(event.id)) return
      this.wrong = this.unreached(event)
      return
    }
    if (operation.settled) return
    const kind = opKindOf(event.type)
    if (kind !== operation.kind) {
      this.wrong = mismatch(
        this.run,
        `its history has a ${kind} '${event.id}'`,
        `the code calls a ${operation.kind} of that name`,
        this.lastDelivered,
      )
      return
    }
    if ('inputDigest' in event && event.inputDigest !== undefined)
      this.checkInput(event.id, operation.request, event.inputDigest)
    this.lastSettledBy = event
    this.open--
    settle(operation, event, this.requests, this.origins)
  }

  /** A result belongs to its input. Code that no longer gives an input is not checked. */
  private checkInput(id: string, request: Request, journaled: string): void {
    const now = request.kind === 'step' ? request.inputDigest : undefined
    if (now !== undefined && now !== journaled)
      this.disagree(
        `step '${id}' has a result that was made of another input (its digest was ${journaled})`,
        `the code gives the step an input whose digest is ${now}`,
      )
  }

  /** Waits end with the error; steps end by themselves, because only their bodies know what they did. */
  private stopWaits(error: Error): void {
    this.stops.push(error)
    for (const operation of this.operations.values()) {
      if (operation.settled || operation.kind === 'step' || !operation.isStoppedBy(this.stops.length)) continue
      this.open--
      operation.reject(error)
    }
  }

  private findUnreached(): Error | undefined {
    if (this.reached === this.journal.facts.size) return undefined
    for (const [id, facts] of this.journal.facts) {
      if (!this.operations.has(id) && !this.groups.isGone(id)) return this.unreached({ id, kind: facts.kind })
    }
    return undefined
  }

  private unreached(journaled: Journaled): NonDeterminismError {
    return offTheJournal(this.run, journaled, this, this.lastDelivered)
  }
}

/** A reaction to it is a microtask, without all that `queueMicrotask` makes for each. */
const SETTLED = Promise.resolve()
