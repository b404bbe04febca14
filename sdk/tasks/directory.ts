import { fnv1a } from '../base/random.ts'
import type { DocumentStore } from '../ports/documents.ts'
import type { Clock, Ids } from '../ports/world.ts'
import type { WorkerRegistration } from './wire.ts'

/** A worker that gives no sign of life for this long is gone. */
const ALIVE_MS = 60_000
/** Signs of life that change nothing are written down this often at most. */
const REMEMBER_EVERY_MS = 15_000
/**
 * A busy worker gives several signs of life a second, and a collection takes some thousand writes: one of them would be full at a thousand workers. More
 * collections would only make the list dearer, which reads them all.
 */
const COLLECTIONS = 8
const collectionNamed = (number: number): string => `workers ${number}`
const collectionOf = (workerId: string): string => collectionNamed(fnv1a(workerId, 0) % COLLECTIONS)

export interface LiveWorker extends WorkerRegistration {
  /** How many tasks it has in hand, as far as its last poll tells. */
  load: number
  seenAt: number
}

/** A connection by which a worker shows that it is there. */
export interface Connection {
  beat(): Promise<void>
  end(): Promise<void>
}

/** `connection`: the last one the worker made. */
type Stored = LiveWorker & { connection?: string }

/** Which workers there are. Nothing depends on it: it is for people to look at. */
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

  /** A sign of life; `load` where the worker has told. A registration that comes meanwhile knows more than a poll does, and stays. */
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

  /** A worker that has connected anew meanwhile stays. */
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
