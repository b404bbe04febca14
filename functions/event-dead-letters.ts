import type { MessageAttributeValue, SQS } from '@aws-sdk/client-sqs'
import { digest } from '../sdk/base/names.ts'
import type { DeadEvent } from '../sdk/events/intake.ts'
import { type Later, using } from '../sdk/worlds/aws/clients.ts'
import type { ObjectStore } from '../sdk/worlds/aws/objects.ts'

/** The limit of any queue, 256 KiB, less the room for attributes. */
const MOST_BYTES = 250_000
const LONGEST_REASON = 2_000
const LONGEST_ID = 1_000
export const DEAD_EVENTS = 'dead-events/'

/**
 * Stores events that can never be taken: the body is the event as mappings see it, the attributes say why it
 * was refused.
 */
export class EventDeadLetters {
  private readonly sqs: Later<Pick<SQS, 'sendMessage'>>
  private readonly objects: Pick<ObjectStore, 'put'>
  private readonly queueUrl: string

  constructor(sqs: Later<Pick<SQS, 'sendMessage'>>, objects: Pick<ObjectStore, 'put'>, queueUrl: string) {
    this.sqs = sqs
    this.objects = objects
    this.queueUrl = queueUrl
  }

  async send(subscription: string, { event, id, reason }: DeadEvent): Promise<void> {
    const whole = writable(JSON.stringify(event) ?? 'null')
    const MessageBody = Buffer.byteLength(whole) <= MOST_BYTES ? whole : JSON.stringify(await this.store(id, whole))
    const MessageAttributes = {
      reason: attribute(reason.slice(0, LONGEST_REASON)),
      subscription: attribute(subscription),
      ...(id !== undefined && { eventId: attribute(id.slice(0, LONGEST_ID)) }),
    }
    const message = { QueueUrl: this.queueUrl, MessageBody, MessageAttributes }
    await using(this.sqs, (sqs) => sqs.sendMessage(message))
  }

  /** In the payload bucket, whose lifecycle rule removes it a day after its dead letter. */
  private async store(id: string | undefined, whole: string): Promise<object> {
    const tooLarge = `${DEAD_EVENTS}${digest(whole)}.json`
    await this.objects.put(tooLarge, Buffer.from(whole))
    return { ...(id !== undefined && { id: id.slice(0, LONGEST_ID) }), tooLarge }
  }
}

/** SQS refuses two characters that JSON allows; JSON can escape them. */
const writable = (json: string): string => json.replaceAll('\uFFFE', '\\ufffe').replaceAll('\uFFFF', '\\uffff')

// biome-ignore lint/suspicious/noControlCharactersInRegex: SQS takes none of these, and events may contain them
const REFUSED = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\uFFFE\uFFFF]/g

/** An attribute must not be empty. */
const attribute = (text: string): MessageAttributeValue => ({
  DataType: 'String',
  StringValue: text.toWellFormed().replaceAll(REFUSED, '\uFFFD') || '-',
})
