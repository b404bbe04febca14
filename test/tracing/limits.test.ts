import { describe, expect, it } from 'vitest'
import { Exporter } from '../../sdk/tracing/exporter.ts'
import { firstBatch, LONGEST_MS, MOST_BYTES, MOST_SPANS, OLDEST_MS, takeable } from '../../sdk/tracing/limits.ts'
import type { Span } from '../../sdk/views/spans.ts'
import { readSpans } from './otlp-reader.ts'

const NOW = Date.UTC(2026, 5, 1)
const span = (n: number, startMs = NOW, endMs = startMs, more: Span['attributes'] = {}): Span => ({
  traceId: 'a'.repeat(32),
  spanId: n.toString(16).padStart(16, '0'),
  name: `s${n}`,
  kind: 'internal',
  startMs,
  endMs,
  attributes: more,
  links: [],
})

async function sent(spans: Span[]): Promise<{ bodies: Buffer[]; dropped: number }> {
  const bodies: Buffer[] = []
  let dropped = 0
  const exporter = new Exporter({
    send: async (body) => void bodies.push(Buffer.from(body)),
    resource: { 'service.name': 'test' },
    now: () => NOW,
    onDropped: (count) => (dropped += count),
  })
  exporter.add(spans)
  await exporter.flush()
  return { bodies, dropped }
}

describe('the limits of a request', () => {
  it('are 10,000 spans', async () => {
    const { bodies } = await sent(Array.from({ length: 2 * MOST_SPANS + 1 }, (_, n) => span(n)))
    expect(bodies.map((body) => readSpans(body).length)).toEqual([MOST_SPANS, MOST_SPANS, 1])
  })

  it('are 5 MB, and the order stays', async () => {
    const { bodies } = await sent(
      Array.from({ length: 100 }, (_, n) => span(n, NOW, NOW, { long: 'x'.repeat(100_000) })),
    )
    expect(bodies.length).toBeGreaterThan(1)
    for (const body of bodies) expect(body.length).toBeLessThanOrEqual(MOST_BYTES)
    expect(bodies.flatMap(readSpans).map(({ name }) => name)).toEqual(Array.from({ length: 100 }, (_, n) => `s${n}`))
  })

  it('are 24 hours from the first to the last', () => {
    const spans = [span(1, NOW - LONGEST_MS), span(2), span(3, NOW + 1), span(4)]
    expect(firstBatch(spans)).toEqual(spans.slice(0, 2))
    expect(firstBatch(spans.slice(2))).toEqual(spans.slice(2))
  })

  it('are kept by a backlog too: what a slow endpoint cannot take is dropped, and counted', async () => {
    const { dropped } = await sent(Array.from({ length: 50_001 }, (_, n) => span(n)))
    expect(dropped).toBe(50_001)
  })
})

describe('a span that is too old for a backend', () => {
  it('is told of as of now, and says when it was', () => {
    const old = span(1, NOW - OLDEST_MS - 5_000, NOW - OLDEST_MS)
    expect(takeable(old, NOW)).toEqual({
      ...old,
      startMs: NOW - 5_000,
      endMs: NOW,
      attributes: {
        'overwinter.started_at': '2026-05-17T23:59:55.000Z',
        'overwinter.ended_at': '2026-05-18T00:00:00.000Z',
      },
    })
  })

  it('is no longer than a day', () => {
    const { startMs, endMs } = takeable(span(1, NOW - 3 * LONGEST_MS, NOW), NOW)
    expect(endMs).toBe(NOW)
    expect(endMs - startMs).toBeLessThan(LONGEST_MS)
  })

  it('is left alone where it is neither old nor long', () => {
    const fine = span(1, NOW - 1_000, NOW)
    expect(takeable(fine, NOW)).toBe(fine)
  })
})
