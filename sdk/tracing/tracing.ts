import type { World } from '../ports/world.ts'
import { type Endpoint, endpointOf, resourceOf, sendTo } from './endpoint.ts'
import { Exporter, type ExporterOptions } from './exporter.ts'
import { withTracing } from './with-tracing.ts'

export interface TracingOptions {
  /**
   * Where a collector takes OTLP over HTTP, with its path: `http://localhost:4318/v1/traces`. Default:
   * OpenTelemetry's variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, …).
   */
  endpoint?: string
  headers?: Record<string, string>
  /** Default `OTEL_SERVICE_NAME`, or `overwinter`. */
  serviceName?: string
  /** Called when spans were dropped because the endpoint was down or slow. */
  onDropped?: (count: number) => void
}

/** A world that sends spans of its runs; call `exporter.flush` before the process ends. */
export interface Traced<W> {
  world: W
  exporter: Exporter
}

const SERVICE = 'overwinter'

/** Undefined if neither the environment nor the options name an endpoint. */
export function traced<W extends World>(
  world: W,
  options: TracingOptions = {},
  env: NodeJS.ProcessEnv = process.env,
): Traced<W> | undefined {
  const endpoint: Endpoint | undefined =
    options.endpoint === undefined ? endpointOf(env) : { url: options.endpoint, headers: options.headers ?? {} }
  return endpoint && tracedWith(world, sendTo(endpoint), options, env)
}

export function tracedWith<W extends World>(
  world: W,
  send: ExporterOptions['send'],
  { serviceName, onDropped }: TracingOptions,
  env: NodeJS.ProcessEnv = process.env,
): Traced<W> {
  const news = new DropNews(world)
  const exporter = new Exporter({
    send,
    resource: resourceOf(serviceName === undefined ? env : { ...env, OTEL_SERVICE_NAME: serviceName }, SERVICE),
    now: () => world.clock.now(),
    onDropped: (count, why) => {
      onDropped?.(count)
      news.say(count, why)
    },
  })
  return { world: withTracing(world, exporter), exporter }
}

/** At most one warning a minute for an endpoint that is down, however many runs there are. */
const EVERY_MS = 60_000

class DropNews {
  private readonly world: Pick<World, 'log' | 'clock'>
  private quietUntil = Number.NEGATIVE_INFINITY
  private dropped = 0

  constructor(world: Pick<World, 'log' | 'clock'>) {
    this.world = world
  }

  say(count: number, why: unknown): void {
    this.dropped += count
    const now = this.world.clock.now()
    if (now < this.quietUntil) return
    this.quietUntil = now + EVERY_MS
    const reason =
      why instanceof Error ? (why.cause instanceof Error ? why.cause.message || why.message : why.message) : String(why)
    this.world.log(
      'warn',
      `${this.dropped} spans were dropped, and no run was held up by it: ${reason}. Is the trace endpoint ` +
        'there, and does it take OTLP over HTTP?',
      {
        droppedSpans: this.dropped,
      },
    )
    this.dropped = 0
  }
}
