import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { ExporterOptions } from '../../sdk/tracing/exporter.ts'
import type { Span } from '../../sdk/views/spans.ts'
import { traceOf } from '../../sdk/views/trace-of.ts'
import { Failure, withRun } from '../failure.ts'
import { Session } from '../session.ts'
import { complain, say } from '../terminal.ts'

interface TraceOptions {
  out?: string
  endpoint?: string
}

const RESOURCE = { 'service.name': 'overwinter' }
const PATIENCE_MS = 30_000

export function addTrace(program: Command): void {
  const trace = program
    .command('trace')
    .summary("export a run as OpenTelemetry's spans")
    .description(
      "Makes OpenTelemetry's spans of a run's history, traced or not when it ran, with the ids that they have or would " +
        "have had. Prints them as OTLP's JSON unless --out or --endpoint is given.",
    )
    .argument('<run>', 'its id')
    .option('-o, --out <file>', "write them to a file: JSON, or OTLP's binary form if its name ends in .pb")
    .option(
      '--endpoint <url>',
      'send them: http://localhost:4318, or https://xray.<region>.amazonaws.com for CloudWatch, which takes ' +
        'the last 14 days',
    )
    .action(async (runId: string, options: TraceOptions) => {
      const session = Session.of(trace)
      const spans = await withRun(session.client, runId, async () =>
        traceOf(await session.client.get(runId), await session.client.history(runId)),
      )
      const [root] = spans
      if (!root) throw new Failure(`run ${runId} has no history yet, so there is nothing to export`)
      const where = await exportTo(spans, options, session)
      const said = `${spans.length} spans of run ${runId}, trace ${root.traceId}${where}`
      if (where === '') complain(said)
      else session.print(said, { runId, traceId: root.traceId, spans: spans.length })
    })
}

/** Returns where they were sent; undefined if they were printed. */
async function exportTo(spans: Span[], { out, endpoint }: TraceOptions, session: Session): Promise<string> {
  // Loaded on demand: other commands need no encoder.
  const [{ toJson }, { toProtobuf }] = await Promise.all([
    import('../../sdk/tracing/json.ts'),
    import('../../sdk/tracing/request.ts'),
  ])
  if (out !== undefined)
    writeFileSync(out, out.endsWith('.pb') ? toProtobuf(spans, RESOURCE) : `${toJson(spans, RESOURCE)}\n`)
  if (endpoint !== undefined) await sendAll(spans, tracesUrl(endpoint), session)
  if (out === undefined && endpoint === undefined) say(toJson(spans, RESOURCE))
  return [out !== undefined && `, in ${out}`, endpoint !== undefined && `, sent to ${endpoint}`]
    .filter(Boolean)
    .join('')
}

function tracesUrl(endpoint: string): string {
  const url = URL.parse(endpoint)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Failure(`'${endpoint}' is not the URL of an OTLP endpoint; give one like http://localhost:4318`)
  if (url.pathname === '/') url.pathname = '/v1/traces'
  return url.href
}

async function sendAll(spans: Span[], url: string, session: Session): Promise<void> {
  const [{ firstBatch }, { toProtobuf }] = await Promise.all([
    import('../../sdk/tracing/limits.ts'),
    import('../../sdk/tracing/request.ts'),
  ])
  const send = await senderFor(url, session)
  for (let left = spans; left.length > 0; ) {
    const batch = firstBatch(left)
    left = left.slice(batch.length)
    try {
      await send(toProtobuf(batch, RESOURCE), AbortSignal.timeout(PATIENCE_MS))
    } catch (error) {
      const { message, cause } = error as Error
      const why = cause instanceof Error ? cause.message || message : message
      throw new Failure(
        `the spans could not be sent to ${url}: ${why}. Is an OTLP endpoint there? ` +
          `${spans.length - left.length - batch.length} of ${spans.length} were taken`,
      )
    }
  }
}

/** CloudWatch requires signed requests. */
async function senderFor(url: string, session: Session): Promise<ExporterOptions['send']> {
  const { OTLP_TYPE, refuseUnlessTaken, sendTo } = await import('../../sdk/tracing/endpoint.ts')
  const region = /^xray\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$/.exec(new URL(url).hostname)?.[1]
  if (region === undefined) return sendTo({ url, headers: {} })
  const [{ sigv4 }, { AwsAccount }] = await Promise.all([
    import('../../sdk/http-client/sigv4.ts'),
    import('../aws-account.ts'),
  ])
  const account = new AwsAccount({ region, ...(session.profile !== undefined && { profile: session.profile }) })
  const sign = sigv4({ region, service: 'xray', credentials: await account.credentials() })
  return async (body, signal) =>
    refuseUnlessTaken(
      await fetch(
        await sign(new Request(url, { method: 'POST', body, signal, headers: { 'content-type': OTLP_TYPE } })),
      ),
      url,
    )
}
