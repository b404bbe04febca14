import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodable } from '../../sdk/tracing/json.ts'
import { type Resource, toProtobuf } from '../../sdk/tracing/request.ts'
import type { Span } from '../../sdk/views/spans.ts'

const NOW = Date.UTC(2026, 5, 1)
const RESOURCE = { 'service.name': 'overwinter' }
const span = (given: Partial<Span> = {}): Span => ({
  traceId: '6a1c0f00'.padEnd(32, 'b'),
  spanId: '0123456789abcdef',
  name: 'charge',
  kind: 'internal',
  startMs: NOW,
  endMs: NOW,
  attributes: { 'overwinter.run_id': 'order-1' },
  links: [],
  ...given,
})

/** What OpenTelemetry's own encoder makes of them. */
const theirs = (spans: readonly Span[], resource: Resource) =>
  hexOf(ProtobufTraceSerializer.serializeRequest(encodable(spans, resource))!)
const ours = (spans: readonly Span[], resource: Resource) => hexOf(toProtobuf(spans, resource))
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

const digits = (length: number) =>
  fc.array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length }).map((all) => all.join(''))
const ms = fc.oneof(fc.integer({ min: 0, max: 2 ** 42 }), fc.double({ min: 1.5e12, max: 2e12, noNaN: true }))
const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.string({ minLength: 120, maxLength: 400 }))
const value = fc.oneof(text, fc.integer(), fc.maxSafeInteger(), fc.double(), fc.boolean())
const attributes = fc.dictionary(text, value, { noNullPrototype: true, maxKeys: 4 })
const error = fc.record({ name: text, code: text, says: text }, { requiredKeys: ['name', 'says'] })
const link = fc.record({
  traceId: digits(32),
  spanId: digits(16),
  what: fc.constantFrom('caller', 'begin', 'next generation'),
})
const anySpan: fc.Arbitrary<Span> = fc.record(
  {
    traceId: digits(32),
    spanId: digits(16),
    parentSpanId: digits(16),
    name: text,
    kind: fc.constantFrom('server', 'internal'),
    startMs: ms,
    endMs: ms,
    attributes,
    links: fc.array(link, { maxLength: 3 }),
    error,
  },
  { requiredKeys: ['traceId', 'spanId', 'name', 'kind', 'startMs', 'endMs', 'attributes', 'links'] },
)

describe("a request is, byte by byte, what OpenTelemetry's own encoder makes", () => {
  it('of any spans', () => {
    fc.assert(
      fc.property(
        fc.array(anySpan, { minLength: 1, maxLength: 8 }),
        fc.dictionary(text, text, { noNullPrototype: true, maxKeys: 3 }),
        (spans, resource) => {
          expect(ours(spans, resource)).toBe(theirs(spans, resource))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('of spans that share what they say of themselves, and of their neighbours that do not', () => {
    const root = span({ kind: 'server' })
    const child = span({ parentSpanId: root.spanId, attributes: root.attributes })
    const failed = span({
      attributes: root.attributes,
      parentSpanId: root.spanId,
      error: { name: 'Error', says: 'declined' },
    })
    const linked = span({
      attributes: root.attributes,
      links: [{ traceId: root.traceId, spanId: root.spanId, what: 'begin' }],
    })
    const elsewhere = span({
      traceId: 'c'.repeat(32),
      parentSpanId: 'd'.repeat(16),
      attributes: { 'overwinter.run_id': 'order-2' },
    })
    const spans = [root, child, child, failed, child, linked, child, elsewhere, child, elsewhere, elsewhere]
    expect(ours(spans, RESOURCE)).toBe(theirs(spans, RESOURCE))
  })

  it.each([0, 126, 127, 128, 129, 16_383, 16_384, 100_000])(
    'of texts of %i characters, whichever way their lengths are written',
    (length) => {
      for (const letter of ['x', 'é', '€', '𝄞', '\ud834']) {
        const spans = [span({ name: letter.repeat(length) }), span({ attributes: { [letter]: letter.repeat(length) } })]
        expect(ours(spans, RESOURCE)).toBe(theirs(spans, RESOURCE))
      }
    },
  )
})
