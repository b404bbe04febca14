import { CfnResource, type Duration, Stack, Token } from 'aws-cdk-lib'
import type { CfnGlobalTable, CfnTable, ITable } from 'aws-cdk-lib/aws-dynamodb'
import { type EventPattern, type IEventBus, Rule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction as Invoke } from 'aws-cdk-lib/aws-events-targets'
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { type Function as LambdaFunction, StartingPosition } from 'aws-cdk-lib/aws-lambda'
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations'
import { DynamoEventSource, SqsDlq, SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources'
import { EventType, type IBucket, type NotificationKeyFilter } from 'aws-cdk-lib/aws-s3'
import { LambdaDestination } from 'aws-cdk-lib/aws-s3-notifications'
import type { ITopic, SubscriptionFilter } from 'aws-cdk-lib/aws-sns'
import { LambdaSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import type { CfnQueue, IQueue, Queue } from 'aws-cdk-lib/aws-sqs'
import type { Construct, IConstruct } from 'constructs'
import type { SourceKind } from '../sdk/events/shapes.ts'
import { grantKey } from './encryption.ts'

/**
 * Which messages or changes reach the function, as Lambda filters them: `FilterCriteria.filter({ eventName:
 * FilterRule.isEqual('INSERT') })`. Filtered ones cost nothing. Lambda deletes messages of a queue that do
 * not match.
 */
export interface FilterOptions {
  filters?: Record<string, unknown>[]
}

export interface BusOptions {
  /** Default: the account's. */
  bus?: IEventBus
}

export interface TopicOptions {
  /** Which messages are delivered, by their attributes. */
  filterPolicy?: Record<string, SubscriptionFilter>
}

export interface BucketOptions extends NotificationKeyFilter {
  /** The notifications to receive. Default: objects that were created. */
  events?: EventType[]
}

export interface StreamOptions extends FilterOptions {
  /**
   * Where it begins when it is first deployed. Default: with the oldest change that the stream still has, up
   * to a day old, so that none is missed.
   */
  startingPosition?: StartingPosition
}

/** The recipient of a source's events. */
interface Recipient {
  scope: Construct
  handler: LambdaFunction
  timeout: Duration
  deadLetters: Queue
  kmsKey: IKey | undefined
}

interface Spec {
  kind: SourceKind
  /** Its name in the stack. */
  label: string
  /** How often a message is delivered at most, where that is known. */
  mostReceives?: number
  /** The construct that must not be subscribed twice, and why; or must not be subscribed at all. */
  shared?: { construct: unknown; why?: string }
  attach: (recipient: Recipient) => void
}

/** A source of events for `startOn`, `signalOn` and `cancelOn`. */
export class EventSource {
  readonly kind: SourceKind
  readonly label: string
  readonly mostReceives: number | undefined
  readonly shared: Spec['shared']
  /** For the construct. */
  readonly attach: (recipient: Recipient) => void

  private constructor({ kind, label, mostReceives, shared, attach }: Spec) {
    this.kind = kind
    this.label = label.slice(0, LONGEST_LABEL)
    this.mostReceives = mostReceives
    this.shared = shared
    this.attach = attach
  }

  /**
   * Events of an EventBridge bus that match a pattern:
   * `EventSource.bus({ source: ['shop'], detailType: ['OrderPlaced'] })`.
   */
  static bus(pattern: EventPattern, { bus }: BusOptions = {}): EventSource {
    if (!Object.values(pattern).some((part) => part !== undefined))
      throw new Error(
        'EventSource.bus: the pattern is empty, and EventBridge takes none such. Name a source or a ' +
          'detailType, for example { source: ["shop"] }',
      )
    // `Match.prefix('…')` and the like cannot be names.
    const names = [pattern.detailType, pattern.source].flatMap((parts) =>
      parts === undefined || Token.isUnresolved(parts) ? [] : parts,
    )
    const [label = 'bus'] = names.filter((name) => typeof name === 'string' && !Token.isUnresolved(name))
    return new EventSource({
      kind: 'bus',
      label,
      attach({ scope, handler, deadLetters, kmsKey }) {
        tryAgain(handler, deadLetters)
        new Rule(scope, 'Rule', {
          eventPattern: pattern,
          ...(bus && { eventBus: bus }),
          targets: [new Invoke(handler, { deadLetterQueue: deadLetters })],
        })
        grantKey(kmsKey, new ServicePrincipal('events.amazonaws.com'), 'send')
      },
    })
  }

  /** Messages of an SQS queue, FIFO or not. */
  static queue(queue: IQueue, { filters }: FilterOptions = {}): EventSource {
    const { maxReceiveCount } = (queue as Partial<Queue>).deadLetterQueue ?? {}
    return new EventSource({
      kind: 'queue',
      label: queue.node.id,
      shared: {
        construct: queue,
        why:
          `queue '${queue.node.id}' has a subscription already. Two would take each other's messages: each ` +
          'reaches only one of them. Send them to a topic or a bus, with a subscription for each',
      },
      ...(maxReceiveCount !== undefined && { mostReceives: maxReceiveCount }),
      attach({ handler, timeout }) {
        checkVisibility(queue, timeout)
        handler.addEventSource(
          new SqsEventSource(queue, {
            batchSize: BATCH,
            maxConcurrency: MOST_AT_ONCE,
            reportBatchItemFailures: true,
            ...(filters && { filters }),
          }),
        )
      },
    })
  }

  /** Messages of an SNS topic. */
  static topic(topic: ITopic, { filterPolicy }: TopicOptions = {}): EventSource {
    if (topic.fifo)
      throw new Error(
        `EventSource.topic: '${topic.node.id}' is a FIFO topic, and SNS calls no functions from one. Subscribe ` +
          'a FIFO queue to it, and use EventSource.queue',
      )
    return new EventSource({
      kind: 'topic',
      label: topic.node.id,
      attach({ handler, deadLetters, kmsKey }) {
        tryAgain(handler, deadLetters)
        topic.addSubscription(
          new LambdaSubscription(handler, { deadLetterQueue: deadLetters, ...(filterPolicy && { filterPolicy }) }),
        )
        grantKey(kmsKey, new ServicePrincipal('sns.amazonaws.com'), 'send')
      },
    })
  }

  /** Notifications of an S3 bucket: `EventSource.bucket(uploads, { prefix: 'in/' })`. */
  static bucket(
    bucket: IBucket,
    { events = [EventType.OBJECT_CREATED], prefix, suffix }: BucketOptions = {},
  ): EventSource {
    if (events.length === 0)
      throw new Error(
        'EventSource.bucket: events is empty, so no notification would ever come. Leave it out for objects that ' +
          'were created',
      )
    const filter = { ...(prefix !== undefined && { prefix }), ...(suffix !== undefined && { suffix }) }
    return new EventSource({
      kind: 'bucket',
      label: bucket.node.id,
      attach({ handler, deadLetters }) {
        tryAgain(handler, deadLetters)
        const filters = Object.keys(filter).length > 0 ? [filter] : []
        for (const type of events) bucket.addEventNotification(type, new LambdaDestination(handler), ...filters)
      },
    })
  }

  /** Changes of the items of a DynamoDB table. */
  static stream(
    table: ITable,
    { filters, startingPosition = StartingPosition.TRIM_HORIZON }: StreamOptions = {},
  ): EventSource {
    if (!hasStream(table))
      throw new Error(
        `EventSource.stream: nothing is known of a stream of table '${table.node.id}'. Give it one (dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES), ` +
          'or name that of an imported table (tableStreamArn)',
      )
    return new EventSource({
      kind: 'stream',
      label: table.node.id,
      shared: { construct: table },
      attach({ handler, deadLetters }) {
        handler.addEventSource(
          new DynamoEventSource(table, {
            startingPosition,
            batchSize: STREAM_BATCH,
            reportBatchItemFailures: true,
            // Only for a crash: the function itself reports how far it got.
            bisectBatchOnError: true,
            retryAttempts: STREAM_RETRIES,
            onFailure: new SqsDlq(deadLetters),
            ...(filters && { filters }),
          }),
        )
      },
    })
  }
}

/** The most characters of the label in a default name. */
const LONGEST_LABEL = 40

const BATCH = 10
/**
 * A flood of messages must not take the account's concurrency from the runner; messages beyond this wait in
 * their queue.
 */
const MOST_AT_ONCE = 10
const STREAM_BATCH = 100
const STREAM_RETRIES = 100
/** Lambda's maximum: after one minute, and after two more. */
const ASYNC_RETRIES = 2

/**
 * For sources that invoke the function asynchronously: Lambda retries the event, and puts it among the dead
 * letters when all attempts fail.
 */
function tryAgain(handler: LambdaFunction, deadLetters: Queue): void {
  handler.configureAsyncInvoke({ retryAttempts: ASYNC_RETRIES, onFailure: new SqsDestination(deadLetters) })
}

/** A table of this stack always has an ARN for its stream; its resource tells whether the stream exists. */
function hasStream(table: ITable): boolean {
  const resource = resourceOf<CfnGlobalTable | CfnTable>(table)
  return resource
    ? Stack.of(table).resolve(resource.streamSpecification) !== undefined
    : table.tableStreamArn !== undefined
}

/** The CloudFormation resource; undefined for an imported construct. */
function resourceOf<R extends CfnResource>({ node: { defaultChild } }: IConstruct): R | undefined {
  return defaultChild && CfnResource.isCfnResource(defaultChild) ? (defaultChild as R) : undefined
}

/** The default of SQS. */
const DEFAULT_VISIBILITY_S = 30

/** Lambda refuses such a queue during a deployment. An imported queue cannot be checked. */
function checkVisibility(queue: IQueue, timeout: Duration): void {
  const resource = resourceOf<CfnQueue>(queue)
  if (!resource) return
  const seconds = (Stack.of(queue).resolve(resource.visibilityTimeout) as unknown) ?? DEFAULT_VISIBILITY_S
  if (typeof seconds !== 'number' || seconds >= timeout.toSeconds()) return
  throw new Error(
    `EventSource.queue: messages of '${queue.node.id}' are hidden for ${seconds} seconds (visibilityTimeout), and the function may take ${timeout.toSeconds()}. ` +
      `Make visibilityTimeout at least ${timeout.toSeconds()} seconds`,
  )
}
