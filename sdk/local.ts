import { Client } from './client/client.ts'
import { Schedules } from './client/schedules.ts'
import type { Codec } from './codec/codec.ts'
import { withCodec } from './codec/with-codec.ts'
import type { NamedHandler } from './definitions/define.ts'
import { followCode } from './flow/operating/changing-limits.ts'
import type { RunStore } from './ports/run-store.ts'
import { Runner, type RunnerOptions } from './runner/runner.ts'
import { type Schedule, withSchedules } from './schedule.ts'
import type { Traced, TracingOptions } from './tracing/tracing.ts'
import { Registry } from './workflow.ts'
import { LocalFileError } from './worlds/local/local-file-error.ts'
import { LocalWorld, type LocalWorldOptions } from './worlds/local/world.ts'

export { LocalFileError, LocalWorld, Runner, type TracingOptions }

export type LocalOptions = LocalWorldOptions &
  RunnerOptions & {
    schedules?: readonly Schedule[]
    /** Transforms payloads before they are stored. */
    codec?: Codec | undefined
    /** Wraps the store, to observe it. */
    aroundStore?: (store: RunStore) => RunStore
    /**
     * Sends spans of every run to an OTLP endpoint; `true` uses the endpoint in OpenTelemetry's variables, if
     * they name one.
     */
    tracing?: boolean | TracingOptions
  }

/** A world, a runner and a client in this process. */
export class Local extends Client {
  override readonly world: LocalWorld
  readonly runner: Runner
  readonly schedules: Schedules = new Schedules(this)
  private readonly exporter: Traced<LocalWorld>['exporter'] | undefined

  private constructor(
    world: LocalWorld,
    exporter: Traced<LocalWorld>['exporter'] | undefined,
    runner: Runner,
    registry: Registry,
    handlers?: readonly NamedHandler[],
  ) {
    super(world, registry, handlers)
    this.world = world
    this.exporter = exporter
    this.runner = runner
  }

  static async open(options: LocalOptions): Promise<Local> {
    const { world: own, exporter } = await tracedIfWanted(options)
    // Spans are made of stored data: where a codec hides error messages, spans hide them too.
    const origin = withCodec(own, options.codec)
    const world = options.aroundStore ? withStore(origin, options.aroundStore(origin.store)) : origin
    const schedules = options.schedules ?? []
    const workflows = withSchedules(options.workflows, schedules)
    const local = new Local(
      world,
      exporter,
      new Runner(world, { ...options, workflows }),
      new Registry(workflows),
      options.handlers,
    )
    try {
      await local.runner.start()
      await followCode(world, workflows)
      // Another process on the same file may have schedules of its own: only a process with schedules syncs
      // them.
      if (options.schedules) await local.schedules.sync(schedules)
    } catch (error) {
      await local.close(0)
      throw error
    }
    return local
  }

  async close(graceMs?: number): Promise<void> {
    await this.runner.stop(graceMs)
    await this.exporter?.flush()
    this.world.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

async function tracedIfWanted(
  options: LocalOptions,
): Promise<{ world: LocalWorld; exporter?: Traced<LocalWorld>['exporter'] }> {
  const world = new LocalWorld(options)
  if (!options.tracing) return { world }
  try {
    // Loaded on demand: a process without tracing does not load it.
    const { traced } = await import('./tracing/tracing.ts')
    return traced(world, options.tracing === true ? {} : options.tracing) ?? { world }
  } catch (error) {
    world.close()
    throw error
  }
}

/** The same world (the local one, or one with a codec) with another store. */
function withStore(world: LocalWorld, store: RunStore): LocalWorld {
  return Object.assign(Object.create(Object.getPrototypeOf(world) as object), world, { store }) as LocalWorld
}
