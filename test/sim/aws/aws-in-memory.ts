import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb'
import { SeededRandom } from '../../../sdk/base/random.ts'
import type { Clock } from '../../../sdk/ports/world.ts'
import type { AwsClients } from '../../../sdk/worlds/aws/clients.ts'
import type { ObjectStore as Objects } from '../../../sdk/worlds/aws/objects.ts'
import { Chance } from './chance.ts'
import { dynamoDbClient, schedulerClient, sqsClient } from './clients.ts'
import { type DynamoDbHabits, MOODY_DYNAMODB } from './dynamodb/habits.ts'
import { DynamoDb } from './dynamodb/service.ts'
import type { Table } from './dynamodb/table.ts'
import { type Attempt, type Fate, Network } from './network.ts'
import { type LifecycleRule, ObjectStore } from './objects.ts'
import { MOODY_SCHEDULER, Scheduler, type SchedulerHabits } from './scheduler.ts'
import { EventSource, type EventSourceOptions } from './sqs/event-source.ts'
import { MOODY_QUEUE, type QueueHabits } from './sqs/habits.ts'
import type { Queue } from './sqs/queue.ts'
import { Sqs } from './sqs/service.ts'

/**
 * AWS in memory, for code that speaks to the SDK's clients: under virtual time, from one seed, all on microtasks.
 *
 *   const clock = new VirtualClock(START)
 *   const aws = new AwsInMemory({ seed: 'seed 1', clock, habits: MOODY })
 *   const table = aws.createTable(createTableInput('runs'), { timeToLive: TABLE.timeToLive })
 *   const dead = aws.sqs.createQueue('dead')
 *   const wakes = aws.sqs.createQueue('wakes', { maxReceiveCount: 5, deadLetters: dead, visibilityTimeoutS: 60 })
 *
 *   // A process (a Lambda, say) has a network of its own, which decides what becomes of each attempt of each call.
 *   const network = aws.network('lambda 1', ({ command, call, attempt }) => ({ outcome: 'done', thereMs: 3, backMs: 3 }))
 *   const world = new AwsWorld({ clients: aws.clientsOf(network), objects: aws.objectsOf(network), clock: network.clock(), queueUrl: wakes.url, … })
 *   network.freezeUntil(clock.now() + 60_000)
 *   network.kill()   // nothing that it calls or has called returns any more
 *
 *   // What Lambda does with the queue. A handler that never ends is over at its timeout.
 *   aws.eventSource(wakes, { batchSize: 10, maxConcurrency: 5, timeoutMs: 30_000, handler: async (messages) => idsOfTheFailed })
 *
 *   // Nothing happens unless somebody moves the clock: let microtasks run, then clock.moveTo(clock.next()).
 *
 * For invariants: `table.items()`, `queue.contents`, `aws.scheduler.contents`, `aws.objects.list()`. They bypass every network.
 */
export class AwsInMemory {
  readonly clock: Clock
  readonly dynamodb: DynamoDb
  readonly sqs: Sqs
  readonly scheduler: Scheduler
  readonly objects: ObjectStore
  private readonly seed: string

  constructor({ seed, clock, habits = {}, lifecycle = [] }: AwsOptions) {
    this.seed = seed
    this.clock = clock
    this.dynamodb = new DynamoDb(clock, this.chance('dynamodb'), habits.dynamodb)
    this.sqs = new Sqs(clock, this.chance('sqs'), habits.queue)
    this.scheduler = new Scheduler(clock, this.chance('scheduler'), this.sqs, habits.scheduler)
    this.objects = new ObjectStore(clock, this.chance('objects'), lifecycle)
  }

  createTable(input: CreateTableCommandInput, options: { timeToLive: string }): Table {
    return this.dynamodb.createTable(input, options)
  }

  /** The way of one process to all of it. */
  network(process: string, fateOf?: (attempt: Attempt) => Fate): Network {
    return new Network(process, this.clock, this.chance(`network of ${process}`), fateOf)
  }

  clientsOf(network: Network): AwsClients {
    return {
      dynamodb: dynamoDbClient(this.dynamodb, network),
      sqs: sqsClient(this.sqs, network),
      scheduler: schedulerClient(this.scheduler, network),
    }
  }

  /** The bucket, as a process reaches it. */
  objectsOf(network: Network): Objects {
    const throttled = () => Object.assign(new Error('Please reduce your request rate.'), { name: 'SlowDown' })
    return {
      put: (key, body) =>
        network.call(
          { service: 's3', command: 'PutObjectCommand', input: { key } },
          () => this.objects.put(key, body),
          throttled,
        ),
      get: (key) =>
        network.call(
          { service: 's3', command: 'GetObjectCommand', input: { key } },
          () => this.objects.get(key),
          throttled,
        ),
      removeAll: async (prefix, isMeant = () => true) => {
        const list = () => this.objects.list(prefix).filter(({ key }) => isMeant(key))
        for (const { key } of await network.call(
          { service: 's3', command: 'ListObjectsV2Command', input: { prefix } },
          list,
          throttled,
        ))
          await network.call(
            { service: 's3', command: 'DeleteObjectCommand', input: { key } },
            () => this.objects.delete(key),
            throttled,
          )
      },
    }
  }

  eventSource(queue: Queue, options: EventSourceOptions): EventSource {
    return new EventSource(queue, this.clock, this.chance(`event source of ${queue.name}`), options)
  }

  /** Each part draws from a stream of its own: what one does changes nothing for the others. */
  private chance(part: string): Chance {
    return new Chance(new SeededRandom(`${this.seed}: ${part}`))
  }
}

export interface AwsOptions {
  seed: string
  clock: Clock
  /** What is not said here is prompt and reliable. */
  habits?: Partial<Habits>
  lifecycle?: readonly LifecycleRule[]
}

export interface Habits {
  dynamodb: Partial<DynamoDbHabits>
  queue: Partial<QueueHabits>
  scheduler: Partial<SchedulerHabits>
}

/** As bad as AWS allows itself to be. */
export const MOODY: Habits = { dynamodb: MOODY_DYNAMODB, queue: MOODY_QUEUE, scheduler: MOODY_SCHEDULER }
