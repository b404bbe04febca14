import { FatalError } from '../../engine/errors.ts'
import type { Clock, Functions, Ids, LogSink, Wake, Wakeups, World } from '../../ports.ts'
import { consoleLog, systemClock, systemIds } from '../system.ts'
import { Database } from './database.ts'
import { SqliteDocuments } from './documents.ts'
import { SqliteRunStore } from './store.ts'
import { SqliteTaskStore } from './tasks.ts'

export interface LocalWorldOptions {
  /** A file, or `:memory:`. */
  path: string
  clock?: Clock
  ids?: Ids
  log?: LogSink
  /** What `ctx.invoke` calls, by name. */
  functions?: Record<string, (payload: unknown) => unknown>
}

/** A world in one file and one process; several processes may share the file. */
export class LocalWorld implements World {
  readonly path: string
  readonly store: SqliteRunStore
  readonly documents: SqliteDocuments
  readonly wakeups: LocalWakeups
  readonly tasks: SqliteTaskStore
  readonly clock: Clock
  readonly ids: Ids
  readonly log: LogSink
  readonly functions: Functions
  /** Suspending costs one commit here, and waking another: not worth it for less than this. */
  readonly inlineWaitMs = 20

  constructor(options: LocalWorldOptions) {
    this.path = options.path
    this.clock = options.clock ?? systemClock
    this.ids = options.ids ?? systemIds
    this.log = options.log ?? consoleLog
    const db = new Database(options.path)
    this.store = new SqliteRunStore(db, this.clock)
    this.documents = new SqliteDocuments(db, this.clock)
    this.wakeups = new LocalWakeups()
    this.tasks = new SqliteTaskStore(db, this.clock, (runId) => this.store.notify([runId]))
    this.store.onDispatch = () => this.tasks.lookAgain()
    this.store.onForeignWrite(() => this.tasks.lookAgain())
    this.functions = localFunctions(options.functions ?? {})
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

function localFunctions(functions: Record<string, (payload: unknown) => unknown>): Functions {
  return {
    async invoke(name, payload) {
      const called = functions[name]
      if (!called) throw new FatalError(`no function '${name}' in this local world; it has: ${Object.keys(functions).join(', ') || 'none'}`)
      return called(payload)
    },
  }
}
