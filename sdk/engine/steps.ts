import { recordError } from '../base/error-records.ts'
import { CancelledError, StepInterruptedError, TimeoutError } from '../base/errors.ts'
import type { EventOf } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import type { RunRecord } from '../ports/run.ts'
import type { LimitOfStep, Permits } from './flow-port.ts'
import type { FrameBuffer } from './frame-buffer.ts'
import type { Operation, StepRequest } from './operation.ts'
import type { Replay } from './replay.ts'
import { keptRounds } from './rounds.ts'
import type { Starts } from './starts.ts'
import { type AttemptHost, type AttemptReport, type RoundReport, StepAttempt } from './step-attempt.ts'
import type { Visit } from './visit.ts'
import type { Waits } from './waits.ts'

const HEARTBEAT_EVERY_MS = 1_000
/** Of a runner's time. Loading and replaying take the remaining part. */
const NEARLY_ALL = 0.8

/** The steps of one visit: which are to start, which bodies run, and what they have reported. */
export class Steps implements AttemptHost {
  readonly run: RunRecord
  readonly whose
  readonly clock
  readonly ids
  readonly aroundBody
  private readonly visit: Visit
  private readonly replay: Replay
  private readonly buffer: FrameBuffer
  private readonly permits: Permits
  private readonly waits: Waits
  private readonly starts: Starts
  private readonly running = new Map<Operation, StepAttempt>()
  private readonly reports: { operation: Operation; report: AttemptReport; durable?: () => void }[] = []
  private lastHeartbeat = Number.NEGATIVE_INFINITY
  private asked = false

  constructor(visit: Visit, waits: Waits, starts: Starts) {
    const { world, run } = visit
    this.visit = visit
    this.run = run
    this.clock = world.clock
    this.whose = { runId: run.id, workflow: run.workflow, log: world.log }
    this.ids = world.ids
    this.aroundBody = world.aroundBody
    this.replay = visit.replay
    this.buffer = visit.buffer
    this.permits = visit.permits
    this.waits = waits
    this.starts = starts
  }

  get areRunning(): boolean {
    return this.running.size > 0
  }

  get haveReported(): boolean {
    return this.reports.length > 0
  }

  /** An `until` got an answer, if only a no. The journal does not show it, but the runner did not come in vain. */
  get haveAsked(): boolean {
    return this.asked
  }

  /** Decides what becomes of a step that the code asks for and the journal has no result of. */
  prepare(operation: Operation): void {
    const { facts } = operation
    if (operation.limit) this.permits.keep(operation)
    if (operation.isStoppedBy(this.replay.stopsRequested)) this.report(operation, this.stopped(operation))
    else if (facts?.underWay !== undefined) {
      const error = new StepInterruptedError(
        `the process died in the middle of step '${operation.id}', attempt ${facts.underWay}, which may run ` +
          'at most once. So it is not run again, and it is not known whether it did its work: find out, and ' +
          'catch this error if the workflow can go on',
      )
      this.report(operation, {
        type: 'step.failed',
        id: operation.id,
        attempt: facts.underWay,
        error: recordError(error),
      })
    } else if (facts?.until !== undefined) this.waits.resumeLater(operation, facts.until)
    else if (facts?.repeating) this.goOnAsking(operation)
    else this.request(operation)
  }

  /** Steps whose backoff or pause is over, or whose turn has come. */
  queueDue(): void {
    for (const operation of this.waits.dueSteps(this.clock.now())) this.request(operation)
  }

  /**
   * An at-most-once attempt is on record before it runs. Not earlier: a runner that finds it there takes it to have
   * run.
   */
  announce(): void {
    for (const operation of this.starts.waiting) {
      const { options } = operation.request as StepRequest
      if (options.semantics !== 'at-most-once' || operation.settled) continue
      this.buffer.add({ type: 'step.started', id: operation.id, attempt: (operation.facts?.failures ?? 0) + 1 })
    }
  }

  /** Begins the bodies that are ready: only after a commit (I3). */
  begin(): void {
    for (const operation of this.starts.take()) {
      if (operation.settled || (operation.limit && this.permits.isLate(operation))) continue
      const attempt = new StepAttempt(operation, this)
      this.running.set(operation, attempt)
      attempt.start()
      if (operation.limit) this.permits.begun(operation)
    }
  }

  /** The next step that has come to its end. Other reports are journaled on the way: the code need not know of them. */
  nextSettled(): EventOf<'step.completed' | 'step.failed'> | undefined {
    for (let next = this.reports.shift(); next; next = this.reports.shift()) {
      const { operation, report, durable } = next
      if (report.type !== 'step.checkpoint') this.running.delete(operation)
      if (operation.settled) continue
      if (report.type === 'step.completed' || report.type === 'step.failed') return report
      if (report.type === 'round') {
        const end = this.afterRound(operation, report)
        if (end) return end
        continue
      }
      this.buffer.add(report, durable)
      // Between two attempts it holds no permit.
      if (operation.limit && report.type !== 'step.checkpoint') this.permits.release(operation)
      operation.learn(report)
      if (report.type !== 'step.checkpoint') this.waits.resumeLater(operation, report.until)
    }
    return undefined
  }

  /** On cancellation and timeout: bodies see their signal, steps between two attempts end at once. */
  stop(reason: Error): void {
    const nth = this.replay.stopsRequested
    for (const [operation, attempt] of this.running) {
      if (operation.isStoppedBy(nth)) attempt.abort(new CancelledError(reason.message, { cause: reason }))
    }
    const reported = new Set(this.reports.map(({ operation }) => operation))
    for (const operation of this.replay.operations.values()) {
      if (
        operation.settled ||
        operation.kind !== 'step' ||
        this.running.has(operation) ||
        reported.has(operation) ||
        !operation.isStoppedBy(nth)
      )
        continue
      this.waits.forget(operation)
      this.report(operation, this.stopped(operation))
    }
    this.starts.drop((operation) => operation.isStoppedBy(nth))
  }

  /** Steps that a race went on without: bodies see their signal, and are not heard any more. */
  dropWithdrawn(): void {
    for (const [operation, attempt] of this.running) {
      if (!operation.settled) continue
      this.running.delete(operation)
      attempt.abandon(
        new CancelledError(`step '${operation.id}' was withdrawn: the race that it was part of is decided`),
      )
    }
    this.starts.drop(({ settled }) => settled)
  }

  /**
   * The runner's time is up. An attempt that had nearly all of it counts, or a step that takes longer than any runner
   * has would begin anew for ever. One that began late has a whole runner to itself next time, and one that has saved
   * a checkpoint got somewhere and may go on from there. `shiftMs`: how long this runner had the run.
   */
  cutOff(shiftMs: number): void {
    for (const [operation, attempt] of this.running) {
      attempt.cutOff(
        shiftMs * NEARLY_ALL,
        new TimeoutError(
          `step '${operation.id}' was cut off: it takes longer than its runner has. Make it shorter, save a ` +
            'checkpoint and go on from there, or hand it to a worker with ctx.task',
        ),
      )
    }
  }

  /** The runner lets go of the run: whatever bodies still do is not heard any more. */
  abandon(reason: string): void {
    for (const attempt of this.running.values()) attempt.abandon(new CancelledError(reason))
    this.running.clear()
  }

  // --- AttemptHost

  report(operation: Operation, report: AttemptReport, durable?: () => void): void {
    const { inputDigest } = operation.request as StepRequest
    if (inputDigest !== undefined && report.type !== 'round') report.inputDigest = inputDigest
    this.reports.push({ operation, report, ...(durable && { durable }) })
    this.visit.waker.wake()
  }

  coolDown(operation: Operation, limit: LimitOfStep, ms: number): void {
    this.permits.coolDown(operation, limit, ms)
  }

  heartbeat(operation: Operation, details: Json | undefined): void {
    const at = this.clock.now()
    // A body may send heartbeats in a tight loop. One a second is enough outside.
    if (at - this.lastHeartbeat < HEARTBEAT_EVERY_MS) return
    this.lastHeartbeat = at
    this.visit.lease.beat({ step: operation.id, at, ...(details !== undefined && { details }) })
  }

  private goOnAsking(operation: Operation): void {
    const kept = keptRounds(this.run.waitingFor, operation.id)
    if (!kept) return this.starts.add(operation)
    operation.rounds = kept.rounds
    this.waits.resumeLater(operation, kept.until)
  }

  /** Its end, if its time is up. Otherwise nothing is journaled but that there was a first round. */
  private afterRound(
    operation: Operation,
    { startedAt, until, attempt, error }: RoundReport,
  ): EventOf<'step.completed' | 'step.failed'> | undefined {
    const { id } = operation
    const { timeoutMs } = (operation.request as StepRequest).rhythm!
    if (!operation.facts?.repeating) {
      const event: EventOf<'step.repeating'> = {
        type: 'step.repeating',
        id,
        ...(timeoutMs !== undefined && { until: startedAt + timeoutMs }),
      }
      this.buffer.add(event)
      operation.learn(event)
    }
    const by = operation.facts!.repeating!.until ?? Number.POSITIVE_INFINITY
    if (this.clock.now() >= by)
      return error ? { type: 'step.failed', id, attempt, error } : { type: 'step.completed', id, timedOut: true }
    if (error)
      this.whose.log('warn', `a round of '${id}' failed: ${error.message}`, {
        runId: this.run.id,
        workflow: this.run.workflow,
        attempt,
      })
    else this.asked = true
    operation.rounds = error
      ? { ...operation.rounds, failures: attempt }
      : { vain: operation.rounds.vain + 1, failures: 0 }
    this.waits.resumeLater(operation, Math.min(until, by))
    return undefined
  }

  private request(operation: Operation): void {
    if (!operation.limit) return this.starts.add(operation)
    this.permits.request(operation, (at) => {
      if (at > this.clock.now()) return this.waits.resumeLater(operation, at)
      // An earlier permit may have been for a later time, which it waits for no more.
      this.waits.forget(operation)
      this.starts.add(operation)
    })
  }

  private stopped(operation: Operation): EventOf<'step.failed'> {
    const error = recordError(new CancelledError(this.replay.stopRequested!.message))
    return { type: 'step.failed', id: operation.id, attempt: operation.facts?.failures ?? 0, error }
  }
}
