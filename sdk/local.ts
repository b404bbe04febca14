import { Client } from './client.ts'
import { Registry } from './workflow.ts'
import { LocalRunner, type LocalRunnerOptions } from './worlds/local/runner.ts'
import { LocalWorld, type LocalWorldOptions } from './worlds/local/world.ts'

export { LocalRunner, LocalWorld }

/** A world, a runner and a client in this process. */
export class Local extends Client {
  override readonly world: LocalWorld
  readonly runner: LocalRunner

  private constructor(world: LocalWorld, runner: LocalRunner, registry: Registry) {
    super(world, registry)
    this.world = world
    this.runner = runner
  }

  static async open(options: LocalWorldOptions & LocalRunnerOptions): Promise<Local> {
    const world = new LocalWorld(options)
    const workflows = [...options.workflows]
    const local = new Local(world, new LocalRunner(world, { ...options, workflows }), new Registry(workflows))
    await local.runner.start()
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
