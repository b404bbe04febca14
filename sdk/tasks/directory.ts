import type { Clock, DocumentStore, Ids } from '../ports.ts'
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

/** What a poll was answered with. The worker gave the poll an id, and gives it again if the answer does not come. */
export type Given = { poll: string; tasks: string[] }

/** A connection by which a worker shows that it is there. */
export interface Connection {
  beat(): Promise<void>
  end(): Promise<void>
}

/** `connection`: the last one the worker made. */
type Stored = LiveWorker & { connection?: string; given?: Record<string, Given> }

/** Which workers there are, for people to look at, and what each was given last, in case that does not reach it. */
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
  async seen(registration: WorkerRegistration, load?: number, given?: Given): Promise<void> {
    for (;;) {
      const found = await this.documents.get(COLLECTION, registration.worker_id)
      const known = (found?.value as unknown as Stored | undefined) ?? { ...registration, load: 0, seenAt: 0 }
      const now = this.clock.now()
      const isNews = given !== undefined || (load !== undefined && load !== known.load)
      if (!isNews && now - known.seenAt < REMEMBER_EVERY_MS) return
      // One for each of the polls that a worker has open at a time.
      const answers = given && { given: { ...known.given, [registration.task_types.join(' ')]: given } }
      if (await this.write({ ...known, load: load ?? known.load, seenAt: now, ...answers }, found?.version ?? 0)) return
    }
  }

  /** The tasks that this poll was answered with, if it came before. */
  async givenTo(workerId: string, poll: string): Promise<string[]> {
    const found = await this.documents.get(COLLECTION, workerId)
    const given = Object.values((found?.value as unknown as Stored | undefined)?.given ?? {})
    return given.find((each) => each.poll === poll)?.tasks ?? []
  }

  async find(workerId: string): Promise<LiveWorker | undefined> {
    return (await this.documents.get(COLLECTION, workerId))?.value as unknown as LiveWorker | undefined
  }

  async list(): Promise<LiveWorker[]> {
    return (await this.documents.list(COLLECTION)).map(({ value }) => {
      const { connection: _, given: __, ...worker } = value as unknown as Stored
      return worker
    })
  }

  /** A worker that has connected anew meanwhile stays. */
  private async leave({ worker_id, connection }: WorkerRegistration & { connection: string }): Promise<void> {
    const found = await this.documents.get(COLLECTION, worker_id)
    if ((found?.value as unknown as Stored | undefined)?.connection === connection) await this.documents.delete(COLLECTION, worker_id, found!.version)
  }

  /** False when it has changed since `ifVersion`. */
  private async write(worker: Stored, ifVersion?: number): Promise<boolean> {
    const options = { expiresAt: worker.seenAt + ALIVE_MS, ...(ifVersion !== undefined && { ifVersion }) }
    return (await this.documents.put(COLLECTION, worker.worker_id, { ...worker }, options)) !== undefined
  }
}
