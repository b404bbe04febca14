import type { Clock, DocumentStore } from '../ports.ts'
import type { WorkerRegistration } from './wire.ts'

/** A worker that gives no sign of life for this long is gone. */
const ALIVE_MS = 60_000
/** Signs of life that change nothing are written down this often at most. */
const REMEMBER_EVERY_MS = 15_000
const COLLECTION = 'workers'

export interface LiveWorker extends WorkerRegistration {
  /** How many tasks it has in hand, as far as its last poll tells. */
  load: number
  seenAt: number
}

/** Which workers there are. Nothing depends on it: it is for people to look at. */
export class WorkerDirectory {
  private readonly documents: DocumentStore
  private readonly clock: Clock

  constructor(world: { documents: DocumentStore; clock: Clock }) {
    this.documents = world.documents
    this.clock = world.clock
  }

  async register(worker: WorkerRegistration): Promise<void> {
    const known = await this.find(worker.worker_id)
    await this.write({ ...worker, load: known?.load ?? 0, seenAt: this.clock.now() })
  }

  /** A sign of life; `load` where the worker has told. */
  async seen(workerId: string, told: { load?: number; registration?: WorkerRegistration } = {}): Promise<void> {
    const known = (await this.find(workerId)) ?? (told.registration && { ...told.registration, load: 0, seenAt: 0 })
    if (!known) return
    const now = this.clock.now()
    const load = told.load ?? known.load
    if (load !== known.load || now - known.seenAt >= REMEMBER_EVERY_MS) await this.write({ ...known, load, seenAt: now })
  }

  async deregister(workerId: string): Promise<void> {
    await this.documents.delete(COLLECTION, workerId)
  }

  async find(workerId: string): Promise<LiveWorker | undefined> {
    return (await this.documents.get(COLLECTION, workerId))?.value as unknown as LiveWorker | undefined
  }

  async list(): Promise<LiveWorker[]> {
    return (await this.documents.list(COLLECTION)).map(({ value }) => value as unknown as LiveWorker)
  }

  private async write(worker: LiveWorker): Promise<void> {
    await this.documents.put(COLLECTION, worker.worker_id, { ...worker }, { expiresAt: worker.seenAt + ALIVE_MS })
  }
}
