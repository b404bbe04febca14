import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { DynamoDBRecord, S3EventRecord, SNSEventRecord, SQSRecord } from 'aws-lambda'
import { digest } from '../sdk/base/names.ts'
import type { Arrival } from '../sdk/events/intake.ts'
import type { BucketEvent, QueueEvent, SourceKind, StreamEvent, TopicEvent } from '../sdk/events/shapes.ts'
import { DEAD_EVENTS } from './event-dead-letters.ts'
import { isTooDeep } from './http/body.ts'
import type { Subscription } from './subscription.ts'

/** An event with its source's identifier: SQS and streams need it to deliver failed events again. */
export interface Delivered extends Arrival {
  itemId?: string
}

type Read = (record: never, subscription: Subscription) => Delivered

/** The reader for the records of each source; EventBridge sends its events without records. */
const READ: Record<Exclude<SourceKind, 'bus'>, Read> = {
  queue: fromQueue,
  topic: fromTopic,
  bucket: fromBucket,
  stream: fromStream,
}

/**
 * The events in an invocation. A payload without `Records` is one event in the form that mappings see:
 * EventBridge sends events so, and so do people who resend one.
 */
export function arrivalsOf(sent: unknown, subscription: Subscription): Delivered[] {
  const { source } = subscription
  const payload = insideOf(sent)
  const { Records } = (payload ?? {}) as { Records?: unknown }
  if (source === 'bus' || !Array.isArray(Records)) return [bare(payload)]
  return Records.map((record: unknown) => {
    try {
      return READ[source](record as never, subscription)
    } catch (error) {
      const { messageId, dynamodb } = (record ?? {}) as { messageId?: string; dynamodb?: { SequenceNumber?: string } }
      return {
        event: record,
        problem: `it is not what a ${source} sends: ${(error as Error).message}`,
        itemId: messageId ?? dynamodb?.SequenceNumber,
      }
    }
  })
}

/** A dead letter that Lambda wrote contains the payload of the invocation. */
function insideOf(sent: unknown): unknown {
  const { requestContext, requestPayload } = (sent ?? {}) as {
    requestContext?: { functionArn?: unknown }
    requestPayload?: unknown
  }
  return typeof requestContext?.functionArn === 'string' && requestPayload !== undefined ? requestPayload : sent
}

function bare(event: unknown): Delivered {
  const isObject = typeof event === 'object' && event !== null && !Array.isArray(event)
  const { tooLarge } = (event ?? {}) as { tooLarge?: unknown }
  if (typeof tooLarge === 'string' && tooLarge.startsWith(DEAD_EVENTS))
    return { event, problem: `the event itself is in the payload bucket, under ${tooLarge}. Send that` }
  return isObject ? { event } : { event, problem: 'an event is an object, and this is none' }
}

function fromQueue(
  { messageId, body, attributes, messageAttributes, eventSourceARN }: SQSRecord,
  { mostReceives }: Subscription,
): Delivered {
  const group = attributes.MessageGroupId
  const event: QueueEvent = {
    id: messageId,
    time: new Date(Number(attributes.SentTimestamp)).toISOString(),
    queue: lastOf(eventSourceARN),
    body: parsed(body),
    attributes: texts(messageAttributes, ({ stringValue, binaryValue }) => stringValue ?? binaryValue),
    ...(group !== undefined && { group }),
  }
  const isLastTry = mostReceives !== undefined && Number(attributes.ApproximateReceiveCount) >= mostReceives
  // A standard queue has groups too, for fairness; only a FIFO queue keeps their order.
  return { event, itemId: messageId, isLastTry, ...(group !== undefined && event.queue.endsWith('.fifo') && { group }) }
}

function fromTopic({ Sns }: SNSEventRecord): Delivered {
  const event: TopicEvent = {
    id: Sns.MessageId,
    time: new Date(Sns.Timestamp).toISOString(),
    topic: lastOf(Sns.TopicArn),
    ...(Sns.Subject != null && { subject: Sns.Subject }),
    message: parsed(Sns.Message),
    attributes: texts(Sns.MessageAttributes, ({ Value }) => Value),
  }
  return { event }
}

function fromBucket({ eventName, eventTime, s3 }: S3EventRecord): Delivered {
  const { key, size, eTag, versionId, sequencer } = s3.object
  const bucket = s3.bucket.name
  const event: BucketEvent = {
    // S3 notifications have no ids; the sequencer orders the changes of one key.
    id: digest([bucket, key, versionId, sequencer, eventName].join('\n')),
    time: new Date(eventTime).toISOString(),
    eventName,
    bucket,
    key: decodeURIComponent(key.replaceAll('+', ' ')),
    ...(size !== undefined && { size }),
    ...(eTag !== undefined && { etag: eTag }),
    ...(versionId !== undefined && { versionId }),
  }
  return { event }
}

function fromStream({ eventID, eventName, dynamodb, eventSourceARN }: DynamoDBRecord): Delivered {
  const { Keys, NewImage, OldImage, SequenceNumber, ApproximateCreationDateTime } = dynamodb!
  const event: StreamEvent = {
    id: eventID!,
    // In seconds.
    time: new Date(ApproximateCreationDateTime! * 1_000).toISOString(),
    eventName: eventName!,
    table: eventSourceARN!.split('/')[1]!,
    keys: plainItem(Keys!),
    ...(NewImage && { newImage: plainItem(NewImage) }),
    ...(OldImage && { oldImage: plainItem(OldImage) }),
  }
  return { event, itemId: SequenceNumber, group: JSON.stringify(Keys) }
}

/** The JSON of a stream has bytes in base64, and they stay so. */
function plainItem(image: NonNullable<NonNullable<DynamoDBRecord['dynamodb']>['NewImage']>): Record<string, unknown> {
  const item = unmarshall(image as Parameters<typeof unmarshall>[0], { wrapNumbers: numberOrText })
  return JSON.parse(
    JSON.stringify(item, (_key, value: unknown) => (value instanceof Set ? [...value] : value)),
  ) as Record<string, unknown>
}

function numberOrText(text: string): number | string {
  const number = Number(text)
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? text : number
}

/** Parses JSON. Text that is no JSON, or is nested too deeply to walk safely, stays a text. */
function parsed(text: string): unknown {
  if (isTooDeep(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function texts<T>(
  attributes: Record<string, T> | undefined,
  textOf: (attribute: T) => string | undefined,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes ?? {}).flatMap(([name, attribute]) => [[name, textOf(attribute) ?? '']]),
  )
}

/** The name at the end of an ARN. */
const lastOf = (arn: string): string => arn.slice(arn.lastIndexOf(':') + 1)
