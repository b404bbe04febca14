import type { ExporterOptions } from './exporter.ts'
import type { Resource } from './request.ts'

/** Where spans are sent, as OpenTelemetry's own variables say. */
export interface Endpoint {
  url: string
  headers: Record<string, string>
}

type Environment = Readonly<Record<string, string | undefined>>

/** Undefined if traces are not configured. */
export function endpointOf(env: Environment): Endpoint | undefined {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: exact, OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_SDK_DISABLED } = env
  if (OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined
  const [name, value] = exact
    ? (['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', exact] as const)
    : (['OTEL_EXPORTER_OTLP_ENDPOINT', base] as const)
  if (!value) return undefined
  return { url: urlOf(exact ? value : `${value.replace(/\/+$/, '')}/v1/traces`, name, value), headers: headersOf(env) }
}

function urlOf(text: string, name: string, value: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol)) return url.href
  throw new Error(
    `${name} is '${value}', which is not the URL of an OTLP endpoint. Set it to where your collector takes ` +
      'OTLP over HTTP, http://localhost:4318 for example',
  )
}

/** `name=value,name=value`, each of them percent-encoded. */
function headersOf({
  OTEL_EXPORTER_OTLP_HEADERS: all = '',
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: ours = '',
}: Environment): Record<string, string> {
  return Object.fromEntries(pairsOf(`${all},${ours}`).filter(([name]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name)))
}

function pairsOf(list: string): [string, string][] {
  return list.split(',').flatMap((pair) => {
    const at = pair.indexOf('=')
    return at > 0 ? [[decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))]] : []
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return text.trim()
  }
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, if they are set. */
export function resourceOf(env: Environment, serviceName: string): Resource {
  const attributes = Object.fromEntries(pairsOf(env.OTEL_RESOURCE_ATTRIBUTES ?? ''))
  return { ...attributes, 'service.name': env.OTEL_SERVICE_NAME || attributes['service.name'] || serviceName }
}

export const OTLP_TYPE = 'application/x-protobuf'

export function sendTo({ url, headers }: Endpoint): ExporterOptions['send'] {
  return async (body, signal) => {
    const response = await fetch(url, {
      method: 'POST',
      body,
      signal,
      headers: { ...headers, 'content-type': OTLP_TYPE },
      redirect: 'error',
    })
    await refuseUnlessTaken(response, url)
  }
}

/** The body is always read: a connection with an unread answer cannot be reused. */
export async function refuseUnlessTaken(response: Response, url: string): Promise<void> {
  const said = await response.text()
  if (!response.ok)
    throw new Error(
      `${url} answered ${response.status}${said && /^[ -~\s]*$/.test(said) ? `: ${said.slice(0, 200)}` : ''}`,
    )
}
