import { MessageNotInflight, ReceiptHandleIsInvalid } from '@aws-sdk/client-sqs'
import type { Clock } from '../../../../sdk/ports/world.ts'
import type { Chance } from '../chance.ts'
import { METADATA } from '../errors.ts'
import { Changes } from './changes.ts'
import {
  checkedBody,
  checkedDelay,
  checkedNumber,
  invalidValue,
  LONGEST_HIDING_S,
  LONGEST_WAIT_S,
  MOST_RECEIVED,
} from './checks.ts'
import { PROMPT_QUEUE, type QueueHabits } from './habits.ts'
import type { Received, Stored } from './message.ts'

export interface QueueOptions {
  visibilityTimeoutS?: number
  /** A message that was received so often goes to the dead letters instead of being received once more. */
  maxReceiveCount?: number
  deadLetters?: Queue
  habits?: Partial<QueueHabits>
}

const RETENTION_MS = 14 * 86_400_000
const RECEIPT = /^receipt-(\d+)$/

/** A standard queue. */
export class Queue {
  readonly name: string
  readonly visibilityTimeoutS: number
  private readonly clock: Clock
  private readonly chance: Chance
  private readonly options: QueueOptions
  private readonly habits: QueueHabits
  private messages: Stored[] = []
  private receipts = 0
  private readonly changes = new Changes()

  constructor(name: string, clock: Clock, chance: Chance, options: QueueOptions = {}) {
    this.name = name
    this.clock = clock
    this.chance = chance
    this.options = options
    this.visibilityTimeoutS = options.visibilityTimeoutS ?? 30
    this.habits = { ...PROMPT_QUEUE, ...options.habits }
  }

  get url(): string {
    return `http://in.memory/queues/${this.name}`
  }

  get arn(): string {
    return `arn:aws:sqs:memory-1:000000000000:${this.name}`
  }

  send(body: string | undefined, delaySeconds = 0): { id: string } {
    const sent = checkedBody(body)
    const delayMs = checkedDelay(delaySeconds) * 1_000
    const id = this.chance.uuid()
    const copies = this.chance.strikes(this.habits.twice) ? 2 : 1
    for (let copy = 0; copy < copies; copy++) {
      const now = this.clock.now()
      this.accept({
        id,
        body: sent,
        sentAt: now,
        visibleAt: now + delayMs + this.chance.within(this.habits.lateMs),
        receiveCount: 0,
        receipt: undefined,
      })
    }
    return { id }
  }

  /** Waits for up to `waitS` until there is something. */
  async receive(
    options: { most?: number; visibilityTimeoutS?: number; waitS?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<Received[]> {
    const { most = 1, visibilityTimeoutS = this.visibilityTimeoutS, waitS = 0, signal } = options
    checkedNumber('MaxNumberOfMessages', most, 1, MOST_RECEIVED)
    checkedNumber('VisibilityTimeout', visibilityTimeoutS, 0, LONGEST_HIDING_S)
    checkedNumber('WaitTimeSeconds', waitS, 0, LONGEST_WAIT_S)
    if (waitS === 0 && this.chance.strikes(this.habits.overlooked)) return []
    const until = this.clock.now() + waitS * 1_000
    for (;;) {
      if (signal?.aborted) throw Object.assign(new Error('Request aborted'), { name: 'AbortError' })
      const received = this.take(most, visibilityTimeoutS)
      if (received.length > 0 || this.clock.now() >= until) return received
      await this.changes.next(this.clock, Math.min(until, this.nextVisibleAt ?? until), signal)
    }
  }

  /** What is visible now, and from now on hidden; in no particular order. */
  take(most: number, visibilityTimeoutS = this.visibilityTimeoutS): Received[] {
    const now = this.clock.now()
    this.messages = this.messages.filter(({ sentAt }) => sentAt + RETENTION_MS > now)
    const visible = this.messages.filter(({ visibleAt }) => visibleAt <= now)
    const taken: Received[] = []
    while (visible.length > 0 && taken.length < most) {
      const [message] = visible.splice(this.chance.within([0, visible.length - 1]), 1) as [Stored]
      if (this.isDead(message)) this.bury(message)
      else taken.push(this.hide(message, now + visibilityTimeoutS * 1_000))
    }
    return taken
  }

  /** Deleting with an old receipt, or again, is answered like a success and does nothing. */
  delete(receipt: string): void {
    this.checkReceipt(receipt)
    const message = this.messages.find((one) => one.receipt === receipt)
    if (message) this.messages = this.messages.filter((one) => one !== message)
  }

  changeVisibility(receipt: string, seconds: number): void {
    this.checkReceipt(receipt)
    checkedNumber('VisibilityTimeout', seconds, 0, LONGEST_HIDING_S)
    const now = this.clock.now()
    const message = this.messages.find((one) => one.receipt === receipt)
    if (!message) {
      throw invalidValue(
        `Value ${receipt} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`,
      )
    }
    if (message.visibleAt <= now)
      throw new MessageNotInflight({ message: 'The specified message is not in flight.', $metadata: METADATA })
    message.visibleAt = now + seconds * 1_000
    this.changes.notify()
  }

  /** When the next message can be received, in flight ones included. */
  get nextVisibleAt(): number | undefined {
    return this.messages.length === 0
      ? undefined
      : this.messages.reduce((least, { visibleAt }) => Math.min(least, visibleAt), Number.POSITIVE_INFINITY)
  }

  /** Calls back whenever a message has come or may become visible at another time. */
  onChange(listener: () => void): () => void {
    return this.changes.on(listener)
  }

  /** Everything in the queue, for those who check invariants. */
  get contents(): readonly Readonly<Stored>[] {
    return this.messages
  }

  private accept(message: Stored): void {
    this.messages.push(message)
    this.changes.notify()
  }

  private hide(message: Stored, until: number): Received {
    message.visibleAt = until
    message.receiveCount++
    message.receipt = `receipt-${++this.receipts}`
    const { id, body, receipt, receiveCount, sentAt } = message
    return { id, body, receipt, receiveCount, sentAt }
  }

  private isDead({ receiveCount }: Stored): boolean {
    const { maxReceiveCount, deadLetters } = this.options
    return maxReceiveCount !== undefined && deadLetters !== undefined && receiveCount >= maxReceiveCount
  }

  private bury(message: Stored): void {
    this.messages = this.messages.filter((one) => one !== message)
    this.options.deadLetters!.accept({ ...message, visibleAt: this.clock.now(), receiveCount: 0, receipt: undefined })
  }

  private checkReceipt(receipt: string): void {
    const serial = Number(RECEIPT.exec(receipt)?.[1] ?? Number.NaN)
    if (serial >= 1 && serial <= this.receipts) return
    throw new ReceiptHandleIsInvalid({
      message: `The input receipt handle "${receipt}" is not a valid receipt handle.`,
      $metadata: METADATA,
    })
  }
}
