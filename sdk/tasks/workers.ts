import type { World } from '../ports/world.ts'
import { Answers } from './answers.ts'
import { TaskBroker } from './broker.ts'
import { WorkerDirectory } from './directory.ts'
import { Tokens } from './tokens.ts'

/** Everything about external workers: their tasks and results, the list of workers, and their tokens. */
export class Workers {
  readonly broker: TaskBroker
  readonly answers: Answers
  readonly directory: WorkerDirectory
  readonly tokens: Tokens

  /** `token`: one from the environment, beside those that are made here. */
  constructor(world: Omit<World, 'functions' | 'inlineWaitMs'>, token?: string) {
    this.broker = new TaskBroker(world)
    this.answers = new Answers(world)
    this.directory = new WorkerDirectory(world)
    this.tokens = new Tokens(world, token)
  }
}
