import { flowControl } from '../../flow/control.ts'
import type { RunStore } from '../../ports/run-store.ts'
import type { Clock, Functions, Ids, LogSink, Wakeups, World } from '../../ports/world.ts'
import { Runs } from '../../rules/run-store.ts'
import { type LocalFunction, localFunctions } from '../../runner/local-function.ts'
import { checkPublicUrl } from '../public-url.ts'
import { consoleLog, systemClock, systemIds } from '../system.ts'
import { Bulletin } from './bulletin.ts'
import { Database } from './database.ts'
import { DocumentRows, SqliteDocuments } from './documents.ts'
import { SqliteResidence } from './residence.ts'
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
  readonly residence: SqliteResidence
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
  private readonly bulletin: Bulletin

  constructor(options: LocalWorldOptions) {
    this.path = options.path
    this.isShared = options.path !== ':memory:'
    this.publicUrl = checkPublicUrl(options.publicUrl)
    this.clock = options.clock ?? systemClock
    this.ids = options.ids ?? systemIds
    this.log = options.log ?? consoleLog
    const db = new Database(options.path)
    const bulletin = new Bulletin(db)
    const documents = new DocumentRows(db, this.clock)
    const storage = new SqliteStorage(db, this.clock, bulletin, documents)
    this.db = db
    this.bulletin = bulletin
    this.store = new Runs(storage)
    this.documents = new SqliteDocuments(db, documents)
    this.tasks = new SqliteTaskStore(db, this.clock, storage)
    this.residence = new SqliteResidence({
      path: options.path,
      db,
      storage,
      documents: this.documents,
      bulletin,
      clock: this.clock,
      log: this.log,
    })
    this.wakeups = { send: async (wakes) => this.residence.hint(wakes) }
    documents.onDue = (at) => this.residence.lookAt(at)
    bulletin.onDispatch = () => this.tasks.lookAgain()
    bulletin.onForeignWrite(() => this.tasks.lookAgain())
    this.functions = localFunctions(options.functions ?? [])
  }

  /** Calls back when runs have changed; `all` when it is not known which. */
  onChange(listener: (runIds: readonly string[] | 'all') => void): () => void {
    return this.bulletin.onChange(listener)
  }

  close(): void {
    this.bulletin.close()
    this.db.close()
  }
}
