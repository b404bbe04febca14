import { flowControl } from '../../flow/control.ts'
import type { RunStore } from '../../ports/run-store.ts'
import type { Clock, Functions, Ids, LogSink, Wakeups, World } from '../../ports/world.ts'
import { Runs } from '../../rules/run-store.ts'
import { type LocalFunction, localFunctions } from '../../runner/local-function.ts'
import { checkPublicUrl } from '../public-url.ts'
import { consoleLog, systemClock, systemIds } from '../system.ts'
import { ChangeNotifier } from './change-notifier.ts'
import { Database } from './database.ts'
import { DocumentRows, SqliteDocuments } from './documents.ts'
import { SqliteRunnerRegistry } from './runner-registry.ts'
import { SqliteStorage } from './storage.ts'
import { SqliteTaskStore } from './tasks.ts'

export interface LocalWorldOptions {
  /** A file, or `:memory:`. */
  path: string
  clock?: Clock
  ids?: Ids
  log?: LogSink
  /** Where its HTTP API is reachable, for the URLs of callbacks. `serveLocal` sets it itself. */
  publicUrl?: string
  /** What `ctx.invoke` calls. */
  functions?: readonly LocalFunction[]
}

/** A world in one file and one process; several processes may share the file. */
export class LocalWorld implements World {
  readonly path: string
  readonly store: RunStore
  readonly documents: SqliteDocuments
  readonly wakeups: Wakeups
  readonly tasks: SqliteTaskStore
  readonly runnerRegistry: SqliteRunnerRegistry
  readonly clock: Clock
  readonly ids: Ids
  readonly log: LogSink
  readonly functions: Functions
  /** Suspending costs one commit here, and waking another: not worth it for shorter waits. */
  readonly inlineWaitMs = 20
  readonly flow = flowControl
  readonly isShared: boolean
  /** Set by the server of its HTTP API. */
  publicUrl: string | undefined
  private readonly db: Database
  private readonly changes: ChangeNotifier

  constructor(options: LocalWorldOptions) {
    this.path = options.path
    this.isShared = options.path !== ':memory:'
    this.publicUrl = checkPublicUrl(options.publicUrl)
    this.clock = options.clock ?? systemClock
    this.ids = options.ids ?? systemIds
    this.log = options.log ?? consoleLog
    const db = new Database(options.path)
    const changes = new ChangeNotifier(db)
    const documents = new DocumentRows(db, this.clock)
    const storage = new SqliteStorage(db, this.clock, changes, documents)
    this.db = db
    this.changes = changes
    this.store = new Runs(storage)
    this.documents = new SqliteDocuments(db, documents)
    this.tasks = new SqliteTaskStore(db, this.clock, storage)
    this.runnerRegistry = new SqliteRunnerRegistry({
      path: options.path,
      db,
      storage,
      documents: this.documents,
      changes,
      clock: this.clock,
      log: this.log,
    })
    this.wakeups = { send: async (wakes) => this.runnerRegistry.hint(wakes) }
    documents.onDue = (at) => this.runnerRegistry.lookAt(at)
    changes.onDispatch = () => this.tasks.lookAgain()
    changes.onForeignWrite(() => this.tasks.lookAgain())
    this.functions = localFunctions(options.functions ?? [])
  }

  /** Calls back when runs have changed; `all` when it is not known which. */
  onChange(listener: (runIds: readonly string[] | 'all') => void): () => void {
    return this.changes.onChange(listener)
  }

  close(): void {
    this.changes.close()
    this.db.close()
  }
}
