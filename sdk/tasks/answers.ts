import type { DocumentStore } from '../ports/documents.ts'
import type { Clock } from '../ports/world.ts'

/** Longer than a worker goes on repeating one poll. */
const KEPT_MS = 300_000

/**
 * What polls were answered with. A worker gives each poll an id, and gives it again if the answer does not come: then it gets the tasks that were in
 * it, instead of leaving them to their deadline. Each worker's are in a collection of their own, so that many workers are no crowd.
 */
export class Answers {
  private readonly documents: DocumentStore
  private readonly clock: Clock

  constructor(world: { documents: DocumentStore; clock: Clock }) {
    this.documents = world.documents
    this.clock = world.clock
  }

  /** The tasks that this poll was answered with, if it came before. */
  async find(worker: string, poll: string): Promise<string[]> {
    return ((await this.documents.get(collectionOf(worker), poll))?.value as string[] | undefined) ?? []
  }

  async note(worker: string, poll: string, taskIds: string[]): Promise<void> {
    await this.documents.put(collectionOf(worker), poll, taskIds, { expiresAt: this.clock.now() + KEPT_MS })
  }
}

const collectionOf = (worker: string): string => `answers to ${worker}`
