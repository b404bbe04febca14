import type { Clock, Ids, LogSink, Wake, Wakeups, World } from '../../ports.ts'
import { consoleLog, systemClock, systemIds } from '../system.ts'
import { Database } from './database.ts'
import { SqliteRunStore } from './store.ts'

export interface LocalWorldOptions {
  /** A file, or `:memory:`. */
  path: string
  clock?: Clock
  ids?: Ids
  log?: LogSink
}

/** A world in one file and one process; several processes may share the file. */
export class LocalWorld implements World {
  readonly path: string
  readonly store: SqliteRunStore
  readonly wakeups: LocalWakeups
  readonly clock: Clock
  readonly ids: Ids
  readonly log: LogSink
  /** Suspending costs one commit here, and waking another: not worth it for less than this. */
  readonly inlineWaitMs = 20

  constructor(options: LocalWorldOptions) {
    this.path = options.path
    this.clock = options.clock ?? systemClock
    this.ids = options.ids ?? systemIds
    this.log = options.log ?? consoleLog
    this.store = new SqliteRunStore(new Database(options.path), this.clock)
    this.wakeups = new LocalWakeups()
  }

  close(): void {
    this.store.close()
  }
}

/** The truth is the due index of the database; this only tells the runner of this process to look. */
class LocalWakeups implements Wakeups {
  private listener: ((wake: Wake) => void) | undefined

  async send(wakes: Wake[]): Promise<void> {
    if (this.listener) for (const wake of wakes) this.listener(wake)
  }

  async cancel(): Promise<void> {}

  listen(listener: ((wake: Wake) => void) | undefined): void {
    this.listener = listener
  }
}
