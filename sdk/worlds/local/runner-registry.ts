import type { RunRecord } from '../../ports/run.ts'
import type { Agenda, Hint, RunnerRegistry } from '../../ports/runner-registry.ts'
import type { Clock, LogSink, Wake } from '../../ports/world.ts'
import type { ChangeNotifier } from './change-notifier.ts'
import type { Database } from './database.ts'
import type { SqliteDocuments } from './documents.ts'
import { deadOwners, Liveness, owners } from './liveness.ts'
import type { SqliteStorage } from './storage.ts'

const PURGE_EVERY_MS = 3_600_000
const PURGE_BATCH = 500

/** One statement: a runner asks it whenever it has no run left to claim. */
const AGENDA = `SELECT
  (SELECT min(coalesce(lease_until, wake_at)) FROM runs WHERE coalesce(lease_until, wake_at) > ? AND wake_at IS NOT NULL),
  (SELECT min(due_at) FROM documents WHERE due_at > ?),
  (SELECT min(due_at) FROM documents WHERE due_at <= ?)`

interface Parts {
  path: string
  db: Database
  storage: SqliteStorage
  documents: SqliteDocuments
  changes: ChangeNotifier
  clock: Clock
  log: LogSink
}

/** The processes that share one file, and the work they find in it. */
export class SqliteRunnerRegistry implements RunnerRegistry {
  private readonly parts: Parts
  private liveness: Liveness | undefined
  private housekeeping: NodeJS.Timeout | undefined
  private stopListening: (() => void) | undefined
  private onHint: ((hint?: Hint) => void) | undefined

  constructor(parts: Parts) {
    this.parts = parts
  }

  async register(owner: string, onHint: (hint?: Hint) => void): Promise<void> {
    const { path, db, changes } = this.parts
    this.onHint = onHint
    if (db.isInMemory) return
    for (const dead of deadOwners(path)) await this.release(dead)
    this.liveness = new Liveness(path, owner)
    this.stopListening = changes.onForeignWrite(() => onHint())
    this.housekeeping = setInterval(() => void this.purge(), PURGE_EVERY_MS).unref()
    await this.purge()
  }

  async unregister(owner: string, handBack: boolean): Promise<void> {
    this.onHint = undefined
    clearInterval(this.housekeeping)
    this.stopListening?.()
    // The next process need not wait for our leases to end. What still runs here can no longer
    // write.
    if (handBack) await this.free(owner, `status = 'pending', epoch = epoch + 1, claims = 0, spared = NULL,`)
    this.liveness?.release()
  }

  /**
   * How many other processes run workflows of this file. Called right after `enter`, which has
   * removed the dead ones.
   */
  neighbours(): number {
    const { path, db } = this.parts
    return db.isInMemory ? 0 : owners(path).length - 1
  }

  agenda(now: number): Agenda {
    const [nextRun, nextLimiter, dueLimiter] = this.parts.db.values(AGENDA, now, now, now) as (number | null)[]
    return { nextRun: nextRun ?? undefined, nextLimiter: nextLimiter ?? undefined, hasDueLimiters: dueLimiter !== null }
  }

  stuckRuns(): Pick<RunRecord, 'id' | 'workflow' | 'version'>[] {
    const rows = this.parts.db.rows(`SELECT id, workflow, version FROM runs WHERE status = 'stuck'`)
    return rows.map(({ id, workflow, version }) => ({
      id: id as string,
      workflow: workflow as string,
      version: version as number,
    }))
  }

  /** Schedules a check of something other than a run. The file decides what is due. */
  lookAt(at: number): void {
    this.onHint?.({ at })
  }

  /** Tells the runner of this process, if there is one. The file decides what is due. */
  hint(wakes: readonly Wake[]): void {
    if (this.onHint) for (const wake of wakes) this.onHint(wake)
  }

  /**
   * Frees the runs of a runner that is known to be dead. Their claims still count, so the next
   * runner knows of the crash.
   */
  release(owner: string): Promise<number> {
    return this.free(owner, '')
  }

  private free(owner: string, also: string): Promise<number> {
    const { db, clock } = this.parts
    const sql = `UPDATE runs SET ${also} owner = NULL, lease_until = NULL, wake_at = min(wake_at, ?) WHERE owner = ?`
    return db.write(() => db.run(sql, clock.now(), owner))
  }

  private async purge(): Promise<void> {
    const { storage, documents, log } = this.parts
    try {
      while ((await storage.purgeExpired(PURGE_BATCH)) === PURGE_BATCH);
      await documents.purgeExpired()
    } catch (error) {
      // It only frees space; the next hour's attempt will do.
      log('warn', `what has expired could not be cleared away: ${error}`, {})
    }
  }
}
