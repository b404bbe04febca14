import { Client } from './client.ts'
import type { NamedHandler } from './definitions/define.ts'
import { type Schedule, withSchedules } from './schedule.ts'
import { Schedules } from './schedules.ts'
import { Registry } from './workflow.ts'
import { LocalFileError } from './worlds/local/local-file-error.ts'
import { LocalRunner, type LocalRunnerOptions } from './worlds/local/runner.ts'
import { LocalWorld, type LocalWorldOptions } from './worlds/local/world.ts'

export { LocalFileError, LocalRunner, LocalWorld }

export type LocalOptions = LocalWorldOptions & LocalRunnerOptions & { schedules?: readonly Schedule[] }

/** A world, a runner and a client in this process. */
export class Local extends Client {
  override readonly world: LocalWorld
  readonly runner: LocalRunner
  readonly schedules: Schedules = new Schedules(this)

  private constructor(world: LocalWorld, runner: LocalRunner, registry: Registry, handlers?: readonly NamedHandler[]) {
    super(world, registry, handlers)
    this.world = world
    this.runner = runner
  }

  static async open(options: LocalOptions): Promise<Local> {
    const world = new LocalWorld(options)
    const schedules = options.schedules ?? []
    const workflows = withSchedules(options.workflows, schedules)
    const local = new Local(world, new LocalRunner(world, { ...options, workflows }), new Registry(workflows), options.handlers)
    await local.runner.start()
    await local.schedules.sync(schedules)
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
