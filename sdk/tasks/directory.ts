import { fnv1a } from '../base/random.ts'
import type { DocumentStore } from '../ports/documents.ts'
import type { Clock, Ids } from '../ports/world.ts'
import type { WorkerRegistration } from './wire.ts'

/** A worker without a heartbeat for this long counts as gone. */
const ALIVE_MS = 60_000
/** Heartbeats that change nothing are stored at most this often. */
const REMEMBER_EVERY_MS = 15_000
/**
 * A busy worker sends several heartbeats a second, and a collection takes some thousand writes a second: one
 * of them would be full at a thousand workers. More collections would only make the list more expensive,
 * because it reads all of them.
 */
const COLLECTIONS = 8
const collectionNamed = (number: number): string => `workers ${number}`
const collectionOf = (workerId: string): string => collectionNamed(fnv1a(workerId, 0) % COLLECTIONS)

export interface LiveWorker extends WorkerRegistration {
  /** How many tasks it has, according to its last poll. */
  load: number
  seenAt: number
}

/** A connection that shows that a worker is alive. */
export interface Connection {
  beat(): Promise<void>
  end(): Promise<void>
}

/** `connection`: the last one the worker made. */
type Stored = LiveWorker & { connection?: string }

/** The list of workers. Nothing depends on it: it is for display. */
export class WorkerDirectory {
  private readonly documents: DocumentStore
  private readonly clock: Clock
  private readonly ids: Ids

  constructor(world: { documents: DocumentStore; clock: Clock; ids: Ids }) {
    this.documents = world.documents
    this.clock = world.clock
    this.ids = world.ids
  }

  async connect(worker: WorkerRegistration): Promise<Connection> {
    const registration = { ...worker, connection: this.ids.messageId() }
    const known = await this.find(worker.worker_id)
    await this.write({ ...registration, load: known?.load ?? 0, seenAt: this.clock.now() })
    return { beat: () => this.seen(registration), end: () => this.leave(registration) }
  }

  /**
   * Records a heartbeat; `load` if the worker has reported it. A concurrent registration has more details
   * than a poll, and stays.
   */
  async seen(registration: WorkerRegistration, load?: number): Promise<void> {
    for (;;) {
      const found = await this.documents.get(collectionOf(registration.worker_id), registration.worker_id)
      const known = (found?.value as unknown as Stored | undefined) ?? { ...registration, load: 0, seenAt: 0 }
      const now = this.clock.now()
      const isNews = load !== undefined && load !== known.load
      if (!isNews && now - known.seenAt < REMEMBER_EVERY_MS) return
      if (await this.write({ ...known, load: load ?? known.load, seenAt: now }, found?.version ?? 0)) return
    }
  }

  async find(workerId: string): Promise<LiveWorker | undefined> {
    return (await this.documents.get(collectionOf(workerId), workerId))?.value as unknown as LiveWorker | undefined
  }

  async list(): Promise<LiveWorker[]> {
    const collections = Array.from({ length: COLLECTIONS }, (_, number) => collectionNamed(number))
    const documents = (await Promise.all(collections.map((collection) => this.documents.list(collection)))).flat()
    const workers = documents.map(({ value }) => {
      const { connection: _, ...worker } = value as unknown as Stored
      return worker
    })
    return workers.sort((a, b) => (a.worker_id < b.worker_id ? -1 : 1))
  }

  /** A worker that has reconnected meanwhile stays listed. */
  private async leave({ worker_id, connection }: WorkerRegistration & { connection: string }): Promise<void> {
    const collection = collectionOf(worker_id)
    const found = await this.documents.get(collection, worker_id)
    if ((found?.value as unknown as Stored | undefined)?.connection === connection)
      await this.documents.delete(collection, worker_id, found!.version)
  }

  /** False when it has changed since `ifVersion`. */
  private async write(worker: Stored, ifVersion?: number): Promise<boolean> {
    const options = { expiresAt: worker.seenAt + ALIVE_MS, ...(ifVersion !== undefined && { ifVersion }) }
    return (
      (await this.documents.put(collectionOf(worker.worker_id), worker.worker_id, { ...worker }, options)) !== undefined
    )
  }
}
