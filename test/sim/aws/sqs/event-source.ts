import type { Clock } from '../../../../sdk/ports/world.ts'
import type { Chance } from '../chance.ts'
import type { Received } from './message.ts'
import type { Queue } from './queue.ts'

export interface EventSourceOptions {
  /** Does the work of one invocation and says which messages it could not do, by their ids. Throwing means all of them. */
  handler: (messages: Received[]) => Promise<readonly string[]>
  batchSize: number
  maxConcurrency: number
  /** When Lambda ends an invocation; its place is free again then, and its messages come back. */
  timeoutMs: number
  /** How often Lambda has no room for an invocation. */
  throttled?: number
}

/**
 * Lambda's poller: hands messages over in batches, deletes those that were done and leaves the others hidden until their
 * visibility timeout is over. So what fails comes back, until the queue buries it.
 */
export class EventSource {
  private readonly queue: Queue
  private readonly clock: Clock
  private readonly chance: Chance
  private readonly options: EventSourceOptions
  private running = 0
  private stopTimer = () => {}
  private readonly stopListening: () => void
  private isPumping = false
  private isStopped = false

  constructor(queue: Queue, clock: Clock, chance: Chance, options: EventSourceOptions) {
    this.queue = queue
    this.clock = clock
    this.chance = chance
    this.options = options
    this.stopListening = queue.onChange(() => this.pumpSoon())
    this.pumpSoon()
  }

  /** No new invocations; those that run go on. */
  stop(): void {
    this.stopListening()
    this.stopTimer()
    this.isStopped = true
  }

  /** Never within the call that has sent the message. */
  private pumpSoon(): void {
    if (this.isPumping) return
    this.isPumping = true
    queueMicrotask(() => {
      this.isPumping = false
      this.pump()
    })
  }

  private pump(): void {
    if (this.isStopped) return
    const { batchSize, maxConcurrency } = this.options
    this.stopTimer()
    while (this.running < maxConcurrency) {
      const messages = this.queue.take(batchSize)
      if (messages.length === 0) break
      this.invoke(messages)
    }
    // With all places taken, the next one to become free pumps.
    const next = this.running < maxConcurrency ? this.queue.nextVisibleAt : undefined
    if (next !== undefined) this.stopTimer = this.clock.at(next, () => this.pumpSoon())
  }

  private invoke(messages: Received[]): void {
    if (this.chance.strikes(this.options.throttled ?? 0)) return
    this.running++
    let isOver = false
    const end = (failed: readonly string[] | 'all') => {
      if (isOver) return
      isOver = true
      stopTimeout()
      this.running--
      if (failed !== 'all') for (const { id, receipt } of messages) if (!failed.includes(id)) this.queue.delete(receipt)
      this.pumpSoon()
    }
    const stopTimeout = this.clock.at(this.clock.now() + this.options.timeoutMs, () => end('all'))
    this.options.handler(messages).then(end, () => end('all'))
  }
}
