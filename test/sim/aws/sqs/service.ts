import {
  BatchEntryIdsNotDistinct,
  BatchRequestTooLong,
  type BatchResultErrorEntry,
  type ChangeMessageVisibilityRequest,
  type DeleteMessageRequest,
  EmptyBatchRequest,
  QueueDoesNotExist,
  type ReceiveMessageRequest,
  type SendMessageBatchRequest,
  type SendMessageRequest,
  TooManyEntriesInBatchRequest,
} from '@aws-sdk/client-sqs'
import type { Clock } from '../../../../sdk/ports/world.ts'
import type { Chance } from '../chance.ts'
import { METADATA } from '../errors.ts'
import { MOST_BYTES } from './checks.ts'
import { PROMPT_QUEUE, type QueueHabits } from './habits.ts'
import type { Received } from './message.ts'
import { Queue, type QueueOptions } from './queue.ts'

const MOST_ENTRIES = 10

/** SQS in memory: queues by their URL or ARN, and the commands. */
export class Sqs {
  private readonly clock: Clock
  private readonly chance: Chance
  private readonly habits: QueueHabits
  private readonly queues = new Map<string, Queue>()

  constructor(clock: Clock, chance: Chance, habits: Partial<QueueHabits> = {}) {
    this.clock = clock
    this.chance = chance
    this.habits = { ...PROMPT_QUEUE, ...habits }
  }

  createQueue(name: string, options: QueueOptions = {}): Queue {
    const queue = new Queue(name, this.clock, this.chance, {
      ...options,
      habits: { ...this.habits, ...options.habits },
    })
    this.queues.set(queue.url, queue)
    this.queues.set(queue.arn, queue)
    return queue
  }

  queue(urlOrArn: string | undefined): Queue {
    const queue = this.queues.get(urlOrArn ?? '')
    if (!queue) throw new QueueDoesNotExist({ message: 'The specified queue does not exist.', $metadata: METADATA })
    return queue
  }

  readonly commands = {
    SendMessageCommand: ({ QueueUrl, MessageBody, DelaySeconds }: SendMessageRequest) => ({
      MessageId: this.queue(QueueUrl).send(MessageBody, DelaySeconds).id,
    }),
    SendMessageBatchCommand: (input: SendMessageBatchRequest) => this.sendBatch(input),
    ReceiveMessageCommand: async (input: ReceiveMessageRequest, signal?: AbortSignal) => {
      const messages = await this.queue(input.QueueUrl).receive({
        ...(input.MaxNumberOfMessages !== undefined && { most: input.MaxNumberOfMessages }),
        ...(input.VisibilityTimeout !== undefined && { visibilityTimeoutS: input.VisibilityTimeout }),
        ...(input.WaitTimeSeconds !== undefined && { waitS: input.WaitTimeSeconds }),
        signal,
      })
      // Where there is nothing the answer has no list, not an empty one.
      return messages.length === 0 ? {} : { Messages: messages.map(toMessage) }
    },
    DeleteMessageCommand: ({ QueueUrl, ReceiptHandle }: DeleteMessageRequest) => {
      this.queue(QueueUrl).delete(ReceiptHandle!)
      return {}
    },
    ChangeMessageVisibilityCommand: ({
      QueueUrl,
      ReceiptHandle,
      VisibilityTimeout,
    }: ChangeMessageVisibilityRequest) => {
      this.queue(QueueUrl).changeVisibility(ReceiptHandle!, VisibilityTimeout!)
      return {}
    },
  }

  private sendBatch({ QueueUrl, Entries = [] }: SendMessageBatchRequest): object {
    const queue = this.queue(QueueUrl)
    if (Entries.length === 0)
      throw new EmptyBatchRequest({
        message: 'There should be at least one SendMessageBatchRequestEntry in the request.',
        $metadata: METADATA,
      })
    if (Entries.length > MOST_ENTRIES) {
      throw new TooManyEntriesInBatchRequest({
        message: `Maximum number of entries per request are ${MOST_ENTRIES}. You have sent ${Entries.length}.`,
        $metadata: METADATA,
      })
    }
    if (new Set(Entries.map(({ Id }) => Id)).size < Entries.length)
      throw new BatchEntryIdsNotDistinct({ message: 'Two entries have the same Id.', $metadata: METADATA })
    if (Entries.reduce((sum, { MessageBody = '' }) => sum + Buffer.byteLength(MessageBody), 0) > MOST_BYTES) {
      throw new BatchRequestTooLong({
        message: `Batch requests cannot be longer than ${MOST_BYTES} bytes.`,
        $metadata: METADATA,
      })
    }
    const Successful: object[] = []
    const Failed: BatchResultErrorEntry[] = []
    for (const { Id, MessageBody, DelaySeconds } of Entries) {
      try {
        if (this.chance.strikes(this.habits.batchEntryFails))
          Failed.push({ Id, SenderFault: false, Code: 'InternalError', Message: 'made by the simulator' })
        else Successful.push({ Id, MessageId: queue.send(MessageBody, DelaySeconds).id })
      } catch (error) {
        Failed.push({ Id, SenderFault: true, Code: (error as Error).name, Message: (error as Error).message })
      }
    }
    return { ...(Successful.length > 0 && { Successful }), ...(Failed.length > 0 && { Failed }) }
  }
}

function toMessage({ id, body, receipt, receiveCount, sentAt }: Received): object {
  return {
    MessageId: id,
    Body: body,
    ReceiptHandle: receipt,
    Attributes: { ApproximateReceiveCount: String(receiveCount), SentTimestamp: String(sentAt) },
  }
}
