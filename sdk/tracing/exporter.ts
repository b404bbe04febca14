import type { Span } from '../views/spans.ts'
import { firstBatch, MOST_BYTES, takeable } from './limits.ts'
import { type Resource, toProtobuf } from './request.ts'

export interface ExporterOptions {
  /** Sends one request; rejects when it was not taken. */
  send: (body: Uint8Array<ArrayBuffer>, signal: AbortSignal) => Promise<void>
  resource: Resource
  now: () => number
  /** Spans that nobody will see, and why. */
  onDropped: (count: number, why: unknown) => void
}

/** How long a backend may take. Spans are worth less than the time of those who would wait for them. */
export const PATIENCE_MS = 1_000
/** More than that is not kept for a backend that is too slow. */
const MOST_PENDING = 50_000

/** Sends spans in the order in which they came, one request at a time, so that no child overtakes its parent. What comes meanwhile goes with the next request. */
export class Exporter {
  private readonly options: ExporterOptions
  private pending: Span[] = []
  private sending: Promise<void> | undefined
  private giveUp: AbortController | undefined

  constructor(options: ExporterOptions) {
    this.options = options
  }

  add(spans: readonly Span[]): void {
    if (this.pending.length + spans.length > MOST_PENDING)
      return this.options.onDropped(spans.length, new Error('the trace endpoint is too slow'))
    for (const span of spans) this.pending.push(span)
    this.sending ??= this.sendAll().finally(() => (this.sending = undefined))
  }

  /** Everything has been sent, or dropped; it takes no longer than a second. */
  async flush(): Promise<void> {
    if (!this.sending) return
    const { promise: enough, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, PATIENCE_MS)
    const isSent = await Promise.race([this.sending.then(() => true), enough])
    clearTimeout(timer)
    if (isSent) return
    this.dropAll()
    // What was under way is counted as soon as it has been broken off.
    await this.sending
  }

  private dropAll(): void {
    const dropped = this.pending.length
    this.pending = []
    this.giveUp?.abort(tooSlow())
    if (dropped > 0) this.options.onDropped(dropped, tooSlow())
  }

  private async sendAll(): Promise<void> {
    // What is told of in the same moment goes in one request.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.pending.length > 0) {
      const now = this.options.now()
      const batch = firstBatch(this.pending.map((span) => takeable(span, now)))
      this.pending = this.pending.slice(batch.length)
      await this.sendBatch(batch)
    }
  }

  private async sendBatch(batch: readonly Span[]): Promise<void> {
    const { send, resource, onDropped } = this.options
    const body = toProtobuf(batch, resource)
    if (body.length > MOST_BYTES && batch.length > 1) {
      const half = Math.ceil(batch.length / 2)
      await this.sendBatch(batch.slice(0, half))
      return this.sendBatch(batch.slice(half))
    }
    const giveUp = new AbortController()
    this.giveUp = giveUp
    const timer = setTimeout(() => giveUp.abort(tooSlow()), PATIENCE_MS)
    // Nobody waits for this: a process that has nothing else to do may end.
    timer.unref()
    try {
      await send(body, giveUp.signal)
    } catch (error) {
      onDropped(batch.length, error)
    } finally {
      clearTimeout(timer)
    }
  }
}

const tooSlow = () => new Error(`the trace endpoint did not answer within ${PATIENCE_MS} ms`)
