import type { Span } from '../views/spans.ts'
import { firstBatch, MOST_BYTES, takeable } from './limits.ts'
import { type Resource, toProtobuf } from './request.ts'

export interface ExporterOptions {
  /** Sends one request; rejects when the backend does not accept it. */
  send: (body: Uint8Array<ArrayBuffer>, signal: AbortSignal) => Promise<void>
  resource: Resource
  now: () => number
  /** Called with the number of dropped spans, and why. */
  onDropped: (count: number, why: unknown) => void
}

/** How long a backend may take. Runs must not wait longer for their spans. */
export const PATIENCE_MS = 1_000
/** The most spans that are kept for a slow backend. */
const MOST_PENDING = 50_000

/**
 * Sends spans in order, one request at a time, so that no child span arrives before its parent. Spans that
 * arrive meanwhile go into the next request.
 */
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
    // Spans of an aborted request count as dropped at once.
    await this.sending
  }

  private dropAll(): void {
    const dropped = this.pending.length
    this.pending = []
    this.giveUp?.abort(tooSlow())
    if (dropped > 0) this.options.onDropped(dropped, tooSlow())
  }

  private async sendAll(): Promise<void> {
    // Spans of the same moment go into one request.
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
    // Unreferenced: a process that has no other work may end.
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
