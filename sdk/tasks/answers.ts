import type { DocumentStore } from '../ports/documents.ts'
import type { Clock } from '../ports/world.ts'

/** Longer than a worker goes on repeating one poll. */
const KEPT_MS = 300_000

/**
 * The answers to polls. A worker gives each poll an id, and repeats the id if no answer comes: then it gets
 * the same tasks, which would otherwise wait for their deadline. Each worker has a collection of its own, so
 * that many workers do not contend.
 */
export class Answers {
  private readonly documents: DocumentStore
  private readonly clock: Clock

  constructor(world: { documents: DocumentStore; clock: Clock }) {
    this.documents = world.documents
    this.clock = world.clock
  }

  /** The tasks that this poll was answered with earlier. */
  async find(worker: string, poll: string): Promise<string[]> {
    return ((await this.documents.get(collectionOf(worker), poll))?.value as string[] | undefined) ?? []
  }

  async note(worker: string, poll: string, taskIds: string[]): Promise<void> {
    await this.documents.put(collectionOf(worker), poll, taskIds, { expiresAt: this.clock.now() + KEPT_MS })
  }
}

const collectionOf = (worker: string): string => `answers to ${worker}`
