import type { Span, SpanAttributes, SpanError, SpanLink } from '../views/spans.ts'
import { ProtobufWriter } from './protobuf.ts'

/** The sender: the attributes of OpenTelemetry's "resource". */
export type Resource = Readonly<Record<string, string>>

/**
 * A request in OTLP's binary form: `ExportTraceServiceRequest` of opentelemetry-proto, whose field numbers
 * these are. OpenTelemetry's own encoder visits each span twice and takes several times as long, which runs
 * of many steps feel. `test/tracing/request.test.ts` compares both, byte by byte.
 */
export function toProtobuf(spans: readonly Span[], resource: Resource): Uint8Array<ArrayBuffer> {
  const to = new ProtobufWriter(1_024 + spans.length * USUAL_SIZE)
  const resourceSpans = to.begin(1)
  const about = to.begin(1)
  attributes(to, 1, resource)
  to.uint(2, NONE_DROPPED)
  to.end(about)
  const scopeSpans = to.begin(2)
  const scope = to.begin(1)
  to.text(1, SCOPE)
  to.end(scope)
  const writer = new Spans(to)
  for (const span of spans) writer.write(span)
  to.end(scopeSpans)
  to.end(resourceSpans)
  return to.written
}

export const SCOPE = 'overwinter'
/** How many bytes most spans have room in. */
const USUAL_SIZE = 160
const NONE_DROPPED = 0
const KIND = { internal: 1, server: 2 } as const
const [UNSET, ERROR] = [0, 2]
/** Sampled, and known to be created in this process. */
const FLAGS = 0x101

/**
 * Writes spans one after the other. Neighbours mostly belong to one trace and share attributes, so repeated
 * bytes are copied.
 */
class Spans {
  private readonly to: ProtobufWriter
  private readonly trace = new Remembered<string>()
  private readonly parent = new Remembered<string>()
  private readonly rest = new Remembered<SpanAttributes>()

  constructor(to: ProtobufWriter) {
    this.to = to
  }

  write(span: Span): void {
    const { to } = this
    const { traceId, parentSpanId } = span
    const begun = to.begin(2)
    this.trace.write(to, traceId, () => to.hex(1, traceId))
    to.hex(2, span.spanId)
    if (parentSpanId !== undefined) this.parent.write(to, parentSpanId, () => to.hex(4, parentSpanId))
    to.text(5, span.name)
    to.uint(6, KIND[span.kind])
    to.nanoseconds(7, span.startMs)
    to.nanoseconds(8, span.endMs)
    if (span.error || span.links.length > 0) rest(to, span)
    else this.rest.write(to, span.attributes, () => rest(to, span))
    to.end(begun)
  }
}

/** The bytes last written for a value, to be repeated. */
class Remembered<T> {
  private of: T | undefined
  private bytes = new Uint8Array()

  write(to: ProtobufWriter, of: T, write: () => void): void {
    if (of === this.of) return to.raw(this.bytes)
    const begun = to.place
    write()
    this.of = of
    this.bytes = to.since(begun)
  }
}

function rest(to: ProtobufWriter, { attributes: all, error, links, endMs }: Span): void {
  attributes(to, 9, all)
  if (error?.code !== undefined) attribute(to, 9, ERROR_CODE, error.code)
  to.uint(10, NONE_DROPPED)
  if (error) exception(to, error, endMs)
  to.uint(12, NONE_DROPPED)
  for (const link of links) linkTo(to, link)
  to.uint(14, NONE_DROPPED)
  const status = to.begin(15)
  if (error?.says) to.text(2, error.says)
  to.uint(3, error ? ERROR : UNSET)
  to.end(status)
  to.fixed32(16, FLAGS)
}

export const ERROR_CODE = 'overwinter.error.code'

function exception(to: ProtobufWriter, { name, says }: SpanError, atMs: number): void {
  const begun = to.begin(11)
  to.nanoseconds(1, atMs)
  to.text(2, 'exception')
  attribute(to, 3, 'exception.type', name)
  attribute(to, 3, 'exception.message', says)
  to.uint(4, NONE_DROPPED)
  to.end(begun)
}

function linkTo(to: ProtobufWriter, { traceId, spanId, what }: SpanLink): void {
  const begun = to.begin(13)
  to.hex(1, traceId)
  to.hex(2, spanId)
  attribute(to, 4, 'overwinter.link', what)
  to.uint(5, NONE_DROPPED)
  to.fixed32(6, FLAGS)
  to.end(begun)
}

function attributes(to: ProtobufWriter, field: number, all: SpanAttributes): void {
  for (const key in all) attribute(to, field, key, all[key]!)
}

function attribute(to: ProtobufWriter, field: number, key: string, value: string | number | boolean): void {
  const begun = to.begin(field)
  to.text(1, key)
  const any = to.begin(2)
  if (typeof value === 'string') to.text(1, value)
  else if (typeof value === 'boolean') to.uint(2, value ? 1 : 0)
  else if (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63) to.int(3, value)
  else to.double(4, value)
  to.end(any)
  to.end(begun)
}
