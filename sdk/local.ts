import { Client } from './client.ts'
import type { Codec } from './codec/codec.ts'
import { withCodec } from './codec/with-codec.ts'
import type { NamedHandler } from './definitions/define.ts'
import type { RunStore } from './ports.ts'
import { Runner, type RunnerOptions } from './runner.ts'
import { type Schedule, withSchedules } from './schedule.ts'
import { Schedules } from './schedules.ts'
import { Registry } from './workflow.ts'
import { LocalFileError } from './worlds/local/local-file-error.ts'
import { LocalWorld, type LocalWorldOptions } from './worlds/local/world.ts'

export { LocalFileError, LocalWorld, Runner }

export type LocalOptions = LocalWorldOptions &
  RunnerOptions & {
    schedules?: readonly Schedule[]
    /** Makes something else of payloads before they are stored. */
    codec?: Codec | undefined
    /** Puts something around the store, to look on. */
    aroundStore?: (store: RunStore) => RunStore
  }

/** A world, a runner and a client in this process. */
export class Local extends Client {
  override readonly world: LocalWorld
  readonly runner: Runner
  readonly schedules: Schedules = new Schedules(this)

  private constructor(world: LocalWorld, runner: Runner, registry: Registry, handlers?: readonly NamedHandler[]) {
    super(world, registry, handlers)
    this.world = world
    this.runner = runner
  }

  static async open(options: LocalOptions): Promise<Local> {
    const origin = withCodec(new LocalWorld(options), options.codec)
    const world = options.aroundStore ? withStore(origin, options.aroundStore(origin.store)) : origin
    const schedules = options.schedules ?? []
    const workflows = withSchedules(options.workflows, schedules)
    const local = new Local(world, new Runner(world, { ...options, workflows }), new Registry(workflows), options.handlers)
    try {
      await local.runner.start()
      // Another process on the same file may have schedules of its own: only who speaks of them means them.
      if (options.schedules) await local.schedules.sync(schedules)
    } catch (error) {
      await local.close(0)
      throw error
    }
    return local
  }

  async close(graceMs?: number): Promise<void> {
    await this.runner.stop(graceMs)
    this.world.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** The same world, the local one or one with a codec, with another store. */
function withStore(world: LocalWorld, store: RunStore): LocalWorld {
  return Object.assign(Object.create(Object.getPrototypeOf(world) as object), world, { store }) as LocalWorld
}
