/**
 * Events as mappings see them, by source: the same in the cloud, in `POST /events` and in the test kit. JSON
 * has been parsed. Each has an `id`, which identifies a second delivery, and a `time`, from which its retry
 * time counts.
 */

/** The sources of events. */
export const SOURCES = ['bus', 'queue', 'topic', 'bucket', 'stream'] as const
export type SourceKind = (typeof SOURCES)[number]

/** From EventBridge, unchanged. */
export interface BusEvent<Detail = unknown> {
  id: string
  time: string
  source: string
  'detail-type': string
  account: string
  region: string
  resources: string[]
  detail: Detail
}

/** A message from SQS. */
export interface QueueEvent<Body = unknown> {
  id: string
  /** When it was sent. */
  time: string
  /** The name of the queue. */
  queue: string
  /** The message's content, parsed if it is JSON; otherwise the text. */
  body: Body
  /** The message's own attributes. */
  attributes: Record<string, string>
  /** Of a FIFO queue: the message group, which keeps its order. */
  group?: string
}

/** A message from SNS. */
export interface TopicEvent<Message = unknown> {
  id: string
  time: string
  /** The name of the topic. */
  topic: string
  subject?: string
  /** The message's content, parsed if it is JSON; otherwise the text. */
  message: Message
  attributes: Record<string, string>
}

/** A notification from S3. */
export interface BucketEvent {
  id: string
  time: string
  /** `ObjectCreated:Put`, `ObjectRemoved:Delete`, … */
  eventName: string
  bucket: string
  /** The object's key, decoded: spaces are spaces. */
  key: string
  size?: number
  etag?: string
  versionId?: string
}

/**
 * A change of an item, from the stream of a DynamoDB table. Items are plain data: sets become lists, bytes
 * become base64, numbers beyond 2^53 become texts.
 */
export interface StreamEvent<Item = Record<string, unknown>> {
  id: string
  time: string
  eventName: 'INSERT' | 'MODIFY' | 'REMOVE'
  /** The name of the table. */
  table: string
  keys: Record<string, unknown>
  newImage?: Item
  oldImage?: Item
}
