import { createHash } from 'node:crypto'
import type { Scheduler } from '@aws-sdk/client-scheduler'
import type { SQS } from '@aws-sdk/client-sqs'
import type { Clock, Functions, LogSink, Wake, Wakeups } from '../../ports/world.ts'
import { inParallel } from '../../rules/procedure.ts'
import { inBatchesOf } from './batches.ts'
import { type Later, using } from './clients.ts'
import type { Thresholds } from './context.ts'
import { runIdOf } from './keys.ts'
import type { RunItem } from './run-item.ts'
import { remaining, writeWake } from './wake-message.ts'

export interface WakeupTargets {
  queueUrl: string
  queueArn: string
  schedulerGroup: string
  /** The role that Scheduler assumes to send to the queue. */
  schedulerRoleArn: string
  /** The name of the runner's function, for processes that may invoke it. */
  runner?: string
  /** Called when Scheduler refuses a schedule. The sweeper wakes that run, about two minutes late. */
  onRefusedSchedule?: (wake: Wake, error: Error) => void
}

/** The limit of SQS, though some stand-ins take more. */
const LONGEST_DELAY_S = 900
const BATCH = 10
/** Shorter waits are waited out on the spot: SQS counts in whole seconds. */
const LAST_PART_MS = 1_000

/** Short waits are delayed messages; long ones are schedules that put an early message into the same queue. */
export class AwsWakeups implements Wakeups {
  private readonly sqs: Later<SQS>
  private readonly scheduler: Later<Scheduler>
  private readonly targets: WakeupTargets
  private readonly clock: Clock
  private readonly thresholds: Thresholds
  private readonly functions: Functions
  private readonly log: LogSink

  constructor(
    sqs: Later<SQS>,
    scheduler: Later<Scheduler>,
    functions: Functions,
    targets: WakeupTargets,
    clock: Clock,
    thresholds: Thresholds,
    log: LogSink,
  ) {
    this.functions = functions
    this.log = log
    this.sqs = sqs
    this.scheduler = scheduler
    this.targets = targets
    this.clock = clock
    this.thresholds = thresholds
    // What a schedule leaves must fit an SQS delay, or the wait would go from schedule to schedule.
    if (thresholds.leadMs >= thresholds.longWaitMs) throw new Error('leadMs must be less than longWaitMs')
  }

  async send(wakes: Wake[]): Promise<void> {
    const now = this.clock.now()
    const isLong = (wake: Wake) => remaining(wake, now) >= this.thresholds.longWaitMs
    const short = wakes.filter((wake) => !isLong(wake))
    await Promise.all([
      inParallel(inBatchesOf(BATCH, short), (batch) =>
        batch.length === 1 ? this.sendOne(batch[0]!) : this.sendBatch(batch),
      ),
      inParallel(wakes.filter(isLong), (wake) => this.arm(wake)),
    ])
  }

  get handOver(): Wakeups['handOver'] {
    const { runner } = this.targets
    if (runner === undefined) return undefined
    // The same event that the queue would send.
    return async (wake, signal) => {
      const event = { Records: [{ messageId: `handed over ${wake.runId}`, body: writeWake(wake) }] }
      await this.functions.invoke(runner, event, { idempotencyKey: wake.runId, signal })
    }
  }

  /** Cancels schedules that were armed for a later time. */
  async cancel(wakes: Wake[]): Promise<void> {
    await inParallel(wakes, async (wake) => {
      try {
        await using(this.scheduler, (scheduler) =>
          scheduler.deleteSchedule({ Name: scheduleName(wake), GroupName: this.targets.schedulerGroup }),
        )
      } catch (error) {
        // One that stays fires for nothing, which does no harm (I5).
        if ((error as Error).name !== 'ResourceNotFoundException') this.swallowRefusal(wake, error)
      }
    })
  }

  /**
   * For a runner that has received a wake-up: true once the run is due; false if it is not yet, in
   * which case the wake-up has been sent again. The last part of a second is waited for here, so
   * that a wake-up is exact and never early.
   */
  async isDue(wake: Wake): Promise<boolean> {
    const left = remaining(wake, this.clock.now())
    if (left > LAST_PART_MS) {
      await this.send([wake])
      return false
    }
    if (left > 0) await new Promise<void>((resolve) => this.clock.at(wake.at, resolve))
    return true
  }

  private async sendOne(wake: Wake): Promise<void> {
    const message = {
      QueueUrl: this.targets.queueUrl,
      MessageBody: writeWake(wake),
      DelaySeconds: this.delay(wake),
    }
    await using(this.sqs, (sqs) => sqs.sendMessage(message))
  }

  private async sendBatch(wakes: Wake[]): Promise<void> {
    const entries = wakes.map((wake, i) => ({
      Id: String(i),
      MessageBody: writeWake(wake),
      DelaySeconds: this.delay(wake),
    }))
    const { Failed = [] } = await using(this.sqs, (sqs) =>
      sqs.sendMessageBatch({ QueueUrl: this.targets.queueUrl, Entries: entries }),
    )
    // Sent one by one, the rest gets the SDK's retries and a specific error.
    await inParallel(Failed, ({ Id }) => this.sendOne(wakes[Number(Id)]!))
  }

  /** Rounded down: arriving within the last second and waiting is better than being up to a second late. */
  private delay(wake: Wake): number {
    return Math.min(Math.floor(remaining(wake, this.clock.now()) / 1000), LONGEST_DELAY_S)
  }

  private async arm(wake: Wake): Promise<void> {
    const { schedulerGroup, queueArn, schedulerRoleArn } = this.targets
    // AWS refuses a time in the past.
    const at = Math.max(wake.at - this.thresholds.leadMs, this.clock.now() + 1_000)
    try {
      await using(this.scheduler, (scheduler) =>
        scheduler.createSchedule({
          Name: scheduleName(wake),
          GroupName: schedulerGroup,
          ScheduleExpression: `at(${new Date(at).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)})`,
          ScheduleExpressionTimezone: 'UTC',
          FlexibleTimeWindow: { Mode: 'OFF' },
          ActionAfterCompletion: 'DELETE',
          Target: { Arn: queueArn, RoleArn: schedulerRoleArn, Input: writeWake(wake) },
        }),
      )
    } catch (error) {
      // Armed already, by an earlier attempt or by another runner.
      if ((error as Error).name !== 'ConflictException') this.swallowRefusal(wake, error)
    }
  }

  /**
   * Scheduler refused, and the SDK's retries did not help. The run was in the due index before this
   * call, so the sweeper wakes it, a minute or two late. Throwing would fail a start or commit that
   * is already in the table.
   */
  private swallowRefusal(wake: Wake, error: unknown): void {
    if (!REFUSALS.has((error as Error).name)) throw error
    const { runId, at } = wake
    this.log(
      'warn',
      `EventBridge Scheduler refused a schedule of run '${runId}'; the sweeper wakes the run instead, a little ` +
        `late. ${error}`,
      { runId, at },
    )
    this.targets.onRefusedSchedule?.(wake, error as Error)
  }
}

/** Compared by name: the clients' error classes differ. */
const REFUSALS: ReadonlySet<string> = new Set(['ServiceQuotaExceededException', 'ThrottlingException'])

/**
 * A name that every process derives alike: at most 64 of [0-9a-zA-Z-_.], whatever a run's id is
 * made of.
 */
export function scheduleName({ runId, at }: Wake): string {
  return `wake-${createHash('sha256').update(`${at} ${runId}`).digest('base64url')}`
}

/**
 * The time for which a schedule is armed, if the wait is long enough for one; noted so that it can
 * be cancelled.
 */
export function scheduledFor({ longWaitMs }: Thresholds, wakeAt: number, now: number): number | undefined {
  return wakeAt - now >= longWaitMs ? wakeAt : undefined
}

/** The armed schedule that is no longer needed; one that has fired by now is gone by itself. */
export function obsoleteSchedule(
  { leadMs }: Thresholds,
  { pk, armedAt }: RunItem,
  wanted: number | undefined,
  now: number,
): Wake[] {
  if (armedAt === undefined || armedAt === wanted || armedAt - leadMs <= now) return []
  return [{ runId: runIdOf(pk), at: armedAt }]
}
