import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONGEST_MS, MOST_BYTES, MOST_SPANS, OLDEST_MS } from '../../sdk/tracing/limits.ts'
import type { Collector } from './collector.ts'
import { longRun } from './long-run.ts'
import { readSpans } from './otlp-reader.ts'

const DAY = 86_400_000

describe('the traces of a run of 40 days over three killed processes', () => {
  let collector: Collector
  const begunAt = Date.now()
  beforeAll(async () => {
    collector = await longRun()
  })
  afterAll(() => collector[Symbol.asyncDispose]())

  it('are complete, and have one trace a run', () => {
    const names = collector.spans.map(({ name }) => name)
    expect(names.sort()).toEqual(
      [
        ...[
          'order',
          'reserve',
          'charge',
          'sleep cool down begins',
          'sleep cool down ends',
          'pack',
          'send',
          'child shipping begins',
          'child shipping ends',
        ],
        ...['run completed', 'shipping', 'label', 'run completed'],
      ].sort(),
    )
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(2)
  })

  it('have no id for two spans, no child that came before its parent, and no link to what had not come', () => {
    const seen = new Set<string>()
    for (const { traceId, spanId, parentSpanId, name, links } of collector.spans) {
      expect(seen.has(spanId), name).toBe(false)
      if (parentSpanId) expect(seen.has(traceId + parentSpanId), name).toBe(true)
      for (const link of links) expect(seen.has(link.traceId + link.spanId) || name === 'shipping', name).toBe(true)
      seen.add(traceId + spanId).add(spanId)
    }
  })

  it('stay within what CloudWatch takes', () => {
    const arrivals = [20, 31, 40, 40].map((days) => begunAt + days * DAY)
    expect(collector.requests.length).toBeGreaterThan(2)
    for (const { body } of collector.requests) {
      const spans = readSpans(body)
      const [first, last] = [
        Math.min(...spans.map(({ startMs }) => startMs)),
        Math.max(...spans.map(({ endMs }) => endMs)),
      ]
      expect(body.length).toBeLessThanOrEqual(MOST_BYTES)
      expect(spans.length).toBeLessThanOrEqual(MOST_SPANS)
      expect(last - first).toBeLessThanOrEqual(LONGEST_MS)
      // The clock of whoever sent it was at one of these, or a little later.
      expect(arrivals.some((at) => first > at - OLDEST_MS && first < at + DAY)).toBe(true)
    }
  })

  it('hold nothing of what the run works with', () => {
    for (const { body } of collector.requests) expect(body.includes('CANARY')).toBe(false)
  })

  it('lead from the child to where its parent started it', () => {
    const began = collector.spans.find(({ name }) => name === 'child shipping begins')!
    const child = collector.spans.find(({ name }) => name === 'shipping')!
    expect(child.links).toEqual([{ traceId: began.traceId, spanId: began.spanId }])
  })
})
