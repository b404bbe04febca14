import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import type { Span, SpanLink } from '../views/spans.ts'
import { ERROR_CODE, type Resource, SCOPE as SCOPE_NAME } from './request.ts'

type Encodable = Parameters<typeof JsonTraceSerializer.serializeRequest>[0][number]
type Time = Encodable['startTime']

/** OpenTelemetry's numbers, without its API. */
const KIND = { internal: 0, server: 1 } as const
const [UNSET, ERROR] = [0, 2]
const SAMPLED = 1
const SCOPE = { name: SCOPE_NAME }

/** A request in OTLP's JSON form, which files and collectors' debug tools read. */
export const toJson = (spans: readonly Span[], resource: Resource): string =>
  new TextDecoder().decode(JsonTraceSerializer.serializeRequest(encodable(spans, resource)))

/** Spans in the shape of OpenTelemetry's own classes. */
export function encodable(spans: readonly Span[], attributes: Resource): Encodable[] {
  // One object for all of them: the encoder groups spans by its identity.
  const resource = {
    attributes,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  } as unknown as Encodable['resource']
  return spans.map((span) => toEncodable(span, resource))
}

const NONE: never[] = []
const NO_TIME: Time = [0, 0]
const NO_STATUS = { code: UNSET as Encodable['status']['code'] }

/** All spans have the same shape, and no field that most of them leave empty: there may be ten thousand. */
function toEncodable(span: Span, resource: Encodable['resource']): Encodable {
  const { traceId, parentSpanId, error } = span
  const context = toContext(span)
  const startTime = toTime(span.startMs)
  const endTime = span.endMs === span.startMs ? startTime : toTime(span.endMs)
  const encodable: Encodable & { parentSpanContext: unknown } = {
    name: span.name,
    kind: KIND[span.kind] as Encodable['kind'],
    spanContext: () => context,
    parentSpanContext: parentSpanId === undefined ? (undefined as never) : toContext({ traceId, spanId: parentSpanId }),
    startTime,
    endTime,
    duration: NO_TIME,
    ended: true,
    status: error ? { code: ERROR as Encodable['status']['code'], message: error.says } : NO_STATUS,
    attributes: error?.code === undefined ? span.attributes : { ...span.attributes, [ERROR_CODE]: error.code },
    links: span.links.length === 0 ? NONE : span.links.map(toLink),
    events: error
      ? [
          {
            name: 'exception',
            time: endTime,
            attributes: { 'exception.type': error.name, 'exception.message': error.says },
          },
        ]
      : NONE,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
  return encodable
}

const toLink = ({ what, ...place }: SpanLink): Encodable['links'][number] => ({
  context: toContext(place),
  attributes: { 'overwinter.link': what },
})

const toContext = ({ traceId, spanId }: { traceId: string; spanId: string }) => ({
  traceId,
  spanId,
  traceFlags: SAMPLED,
})

/** Seconds, and the nanoseconds behind them. */
const toTime = (ms: number): Time => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1_000_000)]
