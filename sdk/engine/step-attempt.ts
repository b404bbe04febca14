import { type Duration, milliseconds } from '../base/duration.ts'
import { asError, recordError } from '../base/error-records.ts'
import { CancelledError, RetryableError, TimeoutError } from '../base/errors.ts'
import type { ErrorRecord, EventOf } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import { checkName, idempotencyKey } from '../base/names.ts'
import { isThenable } from '../base/thenable.ts'
import { decode, encode } from '../base/values.ts'
import type { CheckTools, StepTools } from '../context.ts'
import type { RunRecord } from '../ports/run.ts'
import type { AroundBody, Clock, Ids } from '../ports/world.ts'
import type { LimitOfStep } from './flow-port.ts'
import { checkedLimit } from './limit-request.ts'
import type { Operation, StepRequest } from './operation.ts'
import { DEFAULTS, retryDelay } from './retry.ts'
import { delayAfter } from './rounds.ts'
import { type Running, running } from './running.ts'

/** What an attempt reports. The loop journals it, except for rounds; only the first two settle the step. */
export type AttemptReport =
  | EventOf<'step.completed' | 'step.failed' | 'step.retrying' | 'step.paused' | 'step.checkpoint'>
  | RoundReport

/** A round of an `until` that was in vain, or threw. `until`: when the next one is. */
export interface RoundReport {
  type: 'round'
  startedAt: number
  until: number
  attempt: number
  error?: ErrorRecord
}

export interface AttemptHost {
  readonly run: RunRecord
  readonly whose: Running
  readonly clock: Clock
  readonly ids: Ids
  readonly aroundBody?: AroundBody | undefined
  /** `durable` is called once the report is in the journal. */
  report(operation: Operation, report: AttemptReport, durable?: () => void): void
  heartbeat(operation: Operation, details: Json | undefined): void
  /** The service behind a limit asked for a cooldown. */
  coolDown(operation: Operation, limit: LimitOfStep, ms: number): void
}

/** One run of a step's body, and the tools it is given. */
export class StepAttempt implements StepTools, CheckTools {
  readonly attempt: number
  readonly round: number
  readonly lastCheckpoint: unknown
  private readonly startedAt: number
  private readonly operation: Operation
  private readonly request: StepRequest
  private readonly host: AttemptHost
  private over = false
  private cancelled = false
  private hasSaved = false
  private controller: AbortController | undefined
  private abortedWith: Error | undefined
  private stopTimer: (() => void) | undefined

  constructor(operation: Operation, host: AttemptHost) {
    this.operation = operation
    this.request = operation.request as StepRequest
    this.host = host
    this.attempt = (operation.facts?.failures ?? 0) + operation.rounds.failures + 1
    this.round = operation.rounds.vain + 1
    this.lastCheckpoint = decode(operation.facts?.checkpoint)
    this.startedAt = host.clock.now()
  }

  start(): void {
    const { timeoutMs } = this.request
    if (timeoutMs !== undefined)
      this.stopTimer = this.host.clock.at(this.startedAt + timeoutMs, () => this.timeOut(timeoutMs))
    try {
      const result = this.host.aroundBody ? this.callInside(this.host.aroundBody) : this.callBody()
      if (isThenable(result)) {
        result.then(
          (value) => this.complete(value),
          (error: unknown) => this.fail(error),
        )
      } else this.complete(result)
    } catch (error) {
      this.fail(error)
    }
  }

  private callBody(): unknown {
    const whose = {
      ...this.host.whose,
      step: this.operation.id,
      attempt: this.attempt,
      fail: (error: unknown) => this.fail(error),
    }
    return running.run(whose, this.request.body, this)
  }

  private callInside(around: AroundBody): unknown {
    const { id: runId } = this.host.run
    const { id: step } = this.operation
    return around(this.request.rhythm ? { runId, step } : { runId, step, attempt: this.attempt }, () => this.callBody())
  }

  /** The body sees its signal; what it makes of it is its own affair. */
  abort(reason: Error): void {
    if (this.over) return
    if (reason instanceof CancelledError || this.cancelled) this.cancelled = true
    this.abortedWith ??= reason
    this.controller?.abort(reason)
  }

  /** Whatever the body still does, it is not heard any more. */
  abandon(reason: Error): void {
    this.abort(reason)
    this.finish()
  }

  /**
   * An at-most-once attempt is on record already: the next runner finds it there and knows that it was interrupted.
   */
  cutOff(countsFromMs: number, reason: Error): void {
    this.abort(reason)
    const beganLate = this.host.clock.now() - this.startedAt < countsFromMs
    if (this.request.options.semantics === 'at-most-once' || this.hasSaved || beganLate) this.finish()
    else this.fail(reason)
  }

  get idempotencyKey(): string {
    const { run } = this.host
    return idempotencyKey(run, this.operation.id)
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController()
      if (this.abortedWith) this.controller.abort(this.abortedWith)
    }
    return this.controller.signal
  }

  // Arrow functions, so that a body may take them apart: ({ heartbeat, checkpoint }) => …
  heartbeat = (details?: unknown): void => {
    if (this.abortedWith) throw this.abortedWith
    const kept = encode(details, `the heartbeat of step '${this.operation.id}'`)
    if (!this.over) this.host.heartbeat(this.operation, kept)
  }

  checkpoint = (data: unknown): Promise<void> => {
    const kept = encode(data, `the checkpoint of step '${this.operation.id}'`) ?? null
    if (this.over)
      return Promise.reject(
        this.abortedWith ?? new Error(`step '${this.operation.id}' is over; its checkpoint was not saved`),
      )
    return new Promise((resolve) => {
      const saved = () => {
        this.hasSaved = true
        resolve()
      }
      this.host.report(this.operation, { type: 'step.checkpoint', id: this.operation.id, data: kept }, saved)
    })
  }

  pause = (name: string, duration: Duration, data?: unknown): Promise<never> => {
    checkName(`the pause of step '${this.operation.id}'`, name)
    const ms = milliseconds(duration, `the pause '${name}' of step '${this.operation.id}'`)
    const kept = encode(data, `the data of pause '${name}' in step '${this.operation.id}'`)
    // A body that has been asked to stop does not pause first.
    if (this.abortedWith) return Promise.reject(this.abortedWith)
    if (!this.over) {
      const took = this.finish()
      const until = this.host.clock.now() + ms
      const { id } = this.operation
      this.host.report(this.operation, {
        type: 'step.paused',
        id,
        name,
        ...(took > 0 && { ms: took }),
        until,
        ...(kept !== undefined && { data: kept }),
      })
    }
    return new Promise(() => {})
  }

  private complete(value: unknown): void {
    if (this.over) return
    const { rhythm } = this.request
    // A check that has been asked to stop has no next round.
    if (rhythm && !value)
      return this.cancelled ? this.fail(this.abortedWith) : this.goRound(delayAfter(rhythm, this.round))
    const report: EventOf<'step.completed'> = { type: 'step.completed', id: this.operation.id }
    try {
      const result = encode(value, `the result of step '${this.operation.id}'`)
      if (result !== undefined) report.result = result
    } catch (error) {
      return this.fail(error)
    }
    if (this.attempt > 1) report.attempt = this.attempt
    const ms = this.finish()
    if (ms > 0) report.ms = ms
    this.host.report(this.operation, report)
  }

  private fail(thrown: unknown): void {
    if (this.over) return
    const { id } = this.operation
    const { options } = this.request
    const error = this.cancelled ? this.abortedWith! : asError(thrown)
    const policy = options.semantics === 'at-most-once' ? { attempts: 1, ...options.retry } : (options.retry ?? {})
    let delay: number | undefined
    let rest: { limit: LimitOfStep; ms: number } | undefined
    let last: unknown = error
    try {
      delay = this.cancelled
        ? undefined
        : retryDelay(policy, this.attempt, error, () => this.host.ids.random(), `step '${id}'`)
      if (error instanceof RetryableError && error.limit)
        rest = { limit: checkedLimit(error.limit, `a RetryableError in step '${id}'`), ms: restOf(error, delay) }
    } catch (policyError) {
      delay = undefined
      last = policyError
    }
    const ms = this.finish()
    if (rest) this.host.coolDown(this.operation, rest.limit, rest.ms)
    if (delay === undefined)
      this.host.report(this.operation, {
        type: 'step.failed',
        id,
        attempt: this.attempt,
        error: this.recorded(last),
        ...(ms > 0 && { ms }),
      })
    else if (this.request.rhythm) this.goRound(delay, this.recorded(error))
    else {
      const until = this.host.clock.now() + delay
      const of = policy.attempts ?? DEFAULTS.attempts
      this.host.report(this.operation, {
        type: 'step.retrying',
        id,
        attempt: this.attempt,
        of,
        ...(ms > 0 && { ms }),
        error: this.recorded(error),
        until,
      })
    }
  }

  private recorded(thrown: unknown): ErrorRecord {
    const record = recordError(thrown)
    return this.request.addCaller?.(record) ?? record
  }

  private goRound(delay: number, error?: ErrorRecord): void {
    this.finish()
    const { startedAt, attempt } = this
    this.host.report(this.operation, {
      type: 'round',
      startedAt,
      until: this.host.clock.now() + delay,
      attempt,
      ...(error && { error }),
    })
  }

  private timeOut(timeoutMs: number): void {
    const error = new TimeoutError(
      `step '${this.operation.id}' took longer than its timeout of ${timeoutMs} ms and was aborted; ` +
        'raise the timeout if it needs more',
    )
    this.abort(error)
    this.fail(error)
  }

  private finish(): number {
    this.over = true
    this.stopTimer?.()
    return this.host.clock.now() - this.startedAt
  }
}

function restOf({ after }: RetryableError, delay: number | undefined): number {
  return after === undefined ? (delay ?? DEFAULTS.initial) : milliseconds(after, "the 'after' of a RetryableError")
}
