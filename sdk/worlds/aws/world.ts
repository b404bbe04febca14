import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { flowControl } from '../../flow/control.ts'
import type { RunStore } from '../../ports/run-store.ts'
import type { Clock, Ids, LogSink, Wake, World } from '../../ports/world.ts'
import { eraseEnded } from '../../rules/erase.ts'
import { cannotCheck } from '../../rules/limiters/failed-check.ts'
import { callByCall } from '../../rules/procedure.ts'
import { Runs } from '../../rules/run-store.ts'
import { checkPublicUrl } from '../public-url.ts'
import { consoleLog, systemClock, systemIds } from '../system.ts'
import { type AwsClients, givenClients, type LazyClients, lazyClients } from './clients.ts'
import { type Aws, THRESHOLDS, type Thresholds } from './context.ts'
import { DynamoDocuments } from './documents.ts'
import { type Gauges, gauges } from './gauges.ts'
import { LambdaFunctions } from './lambda-functions.ts'
import { type ObjectStore, Objects } from './objects.ts'
import { Payloads } from './payloads.ts'
import type { AwsRun } from './run-item.ts'
import { SignedFetch } from './signed-fetch.ts'
import { DynamoStorage } from './storage.ts'
import { sweep } from './sweeping.ts'
import { TaskQueues } from './task-queues.ts'
import { DynamoTaskStore } from './tasks.ts'
import { AwsWakeups, type WakeupTargets } from './wakeups.ts'

export interface AwsWorldConfig extends WakeupTargets {
  table: string
  /** For payloads above the item limit. */
  bucket: string
  /** The queue of each type of task, by its URL. */
  taskQueues?: Record<string, string>
  clients?: AwsClients
  /** Replaces the bucket. */
  objects?: ObjectStore
  clock?: Clock
  ids?: Ids
  log?: LogSink
  thresholds?: Partial<Thresholds>
  /** Where the HTTP API is reachable, for the URLs of callbacks. */
  publicUrl?: string | undefined
}

/** How many limiters one sweep checks. The next sweep, a minute later, checks the others. */
const MOST_LIMITERS = 1_000

/** A world of one DynamoDB table, one queue, one schedule group and one bucket. */
export class AwsWorld implements World {
  readonly store: RunStore
  readonly documents: DynamoDocuments
  readonly tasks: DynamoTaskStore
  readonly wakeups: AwsWakeups
  readonly clock: Clock
  readonly ids: Ids
  readonly log: LogSink
  readonly functions: LambdaFunctions
  /** SQS counts in seconds, and suspending costs more than a second of a small Lambda. */
  readonly inlineWaitMs = 1_000
  readonly flow = flowControl
  readonly publicUrl: string | undefined
  private readonly clients: LazyClients
  private readonly aws: Aws
  private readonly storage: DynamoStorage

  constructor(config: AwsWorldConfig) {
    this.publicUrl = checkPublicUrl(config.publicUrl)
    this.clock = config.clock ?? systemClock
    this.ids = config.ids ?? systemIds
    this.log = config.log ?? consoleLog
    this.clients = config.clients ? givenClients(config.clients) : lazyClients()
    const thresholds = { ...THRESHOLDS, ...config.thresholds }
    const { dynamodb, sqs, scheduler } = this.clients
    const db = DynamoDBDocumentClient.from(dynamodb, { marshallOptions: { removeUndefinedValues: true } })
    this.functions = new LambdaFunctions(new SignedFetch(dynamodb))
    this.wakeups = new AwsWakeups(sqs, scheduler, this.functions, config, this.clock, thresholds, this.log)
    this.aws = {
      db,
      table: config.table,
      clock: this.clock,
      payloads: new Payloads(db, config.objects ?? new Objects(config.bucket), config.table),
      thresholds,
      queues: new TaskQueues(sqs, this.clock, config.taskQueues ?? {}),
      wake: (wakes) => this.wakeups.send(wakes),
      disarm: (wakes) => this.wakeups.cancel(wakes),
    }
    this.documents = new DynamoDocuments(this.aws)
    this.storage = new DynamoStorage(this.aws, this.documents)
    this.tasks = new DynamoTaskStore(this.aws, this.storage)
    this.store = new Runs(this.storage)
  }

  /**
   * Sends overdue runs to the runners again, up to a limit, and removes runs that are due for
   * removal; see `sweeping.ts`. `onUnchecked`: how many limiters could not be checked, if any.
   */
  sweep(limit: number, onUnchecked?: (limiters: number) => void): Promise<Wake[]> {
    const { aws, storage, wakeups, log } = this
    const erase = (run: AwsRun) => callByCall(eraseEnded(storage, run))
    return sweep(
      aws,
      { tell: (overdue) => wakeups.send(overdue), checkLimiters: () => this.checkLimiters(onUnchecked), erase, log },
      limit,
    )
  }

  /** I10: checks the limiters that are due. */
  private async checkLimiters(onUnchecked?: (limiters: number) => void): Promise<void> {
    const { wakes, failures } = await this.store.checkLimiters(this.clock.now(), MOST_LIMITERS)
    for (const { limiter, error } of failures) this.log('error', cannotCheck(limiter, error), { limit: limiter.limit })
    if (failures.length > 0) onUnchecked?.(failures.length)
    await this.wakeups.send(wakes)
  }

  /** The current gauges; see `gauges.ts`. */
  gauges(): Promise<Gauges> {
    return gauges(this.aws)
  }

  /** Closes the connections. */
  close(): void {
    this.clients.destroy()
  }
}
