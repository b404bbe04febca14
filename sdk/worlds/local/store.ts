import type { ErrorRecord, EventOf, Frame } from '../../engine/events.ts'
import type { Claimed, Clock, Commit, CommitResult, DeliverResult, Lease, Message, NewRun, RunFilter, RunPage, RunRecord, RunStore, Wake } from '../../ports.ts'
import type { Database } from './database.ts'
import { JournalCache } from './journal-cache.ts'
import { claimFresh, claimRun, type Fresh } from './operations/claim.ts'
import { commitRun } from './operations/commit.ts'
import { createRun } from './operations/create.ts'
import { deliverMessage } from './operations/deliver.ts'
import { terminateRun } from './operations/end.ts'
import { listRuns } from './operations/list.ts'
import { parkRun } from './operations/park.ts'
import { reviveRun } from './operations/revive.ts'
import { selectFrames, selectInbox, selectRun, text } from './rows.ts'

const GLANCE_EVERY_MS = 100
/** Where nobody claims, nothing piles up. */
const MOST_FRESH = 2_000

/** Runs, journals and inboxes in one SQLite file. Every operation is a transaction of its own or shares one (group commit). */
export class SqliteRunStore implements RunStore {
  private readonly db: Database
  private readonly clock: Clock
  private readonly journals = new JournalCache()
  /** Runs made here and not yet claimed. */
  private readonly fresh = new Map<string, Fresh>()
  private readonly watchers = new Map<string, Set<() => void>>()
  private readonly glance: NodeJS.Timeout | undefined
  private readonly foreignWriteListeners = new Set<() => void>()
  /** Called when a run has handed out tasks. */
  onDispatch: (() => void) | undefined

  constructor(db: Database, clock: Clock) {
    this.db = db
    this.clock = clock
    if (!this.db.isInMemory) this.glance = this.watchOtherProcesses()
  }

  async create(run: NewRun): Promise<{ created: boolean; run: RunRecord; wakes: Wake[] }> {
    const { key, ...made } = await this.db.write(() => createRun(this.db, run))
    if (key !== undefined && !run.journal && this.fresh.size < MOST_FRESH && run.wakeAt <= this.clock.now()) this.fresh.set(run.id, { key, run: made.run })
    return made
  }

  async get(runId: string): Promise<RunRecord | undefined> {
    return selectRun(this.db, runId)?.run
  }

  async list(filter: RunFilter): Promise<RunPage> {
    return listRuns(this.db, filter)
  }

  async frames(runId: string): Promise<Frame[]> {
    const row = this.db.row('SELECT key, base_seq FROM runs WHERE id = ?', runId)
    return row ? selectFrames(this.db, row.key!, row.base_seq as number) : []
  }

  async deliver(runId: string, message: Message): Promise<DeliverResult> {
    const result = await this.db.write(() => deliverMessage(this.db, runId, message, this.clock.now()))
    if (result.outcome === 'accepted') this.notify([runId])
    return result
  }

  claim(runId: string, lease: Lease): Promise<Claimed | undefined> {
    // A claim that a power cut undoes was made by a process that is gone as well.
    return this.db.write(() => {
      const now = this.clock.now()
      const fresh = this.fresh.get(runId)
      this.fresh.delete(runId)
      return (fresh && claimFresh(this.db, fresh, lease, now)) ?? claimRun(this.db, this.journals, runId, lease, now)
    }, 'mayBeLost')
  }

  renew(runId: string, epoch: number, lease: Lease, heartbeat?: RunRecord['heartbeat']): Promise<{ stimulus: number } | undefined> {
    return this.db.write(() => {
      const until = this.clock.now() + lease.ms
      const row = this.db.row(
        `UPDATE runs SET lease_until = ?, wake_at = ?, heartbeat = coalesce(?, heartbeat) WHERE id = ? AND epoch = ? AND status = 'running' RETURNING stimulus`,
        until,
        until,
        text(heartbeat),
        runId,
        epoch,
      )
      return row && { stimulus: row.stimulus as number }
    })
  }

  async inbox(runId: string): Promise<{ stimulus: number; messages: Message[] }> {
    const row = this.db.row('SELECT key, stimulus FROM runs WHERE id = ?', runId)
    return row ? { stimulus: row.stimulus as number, messages: selectInbox(this.db, row.key!) } : { stimulus: 0, messages: [] }
  }

  async commit(commit: Commit): Promise<CommitResult> {
    const { result, touched } = await this.db.write(() => commitRun(this.db, commit, this.clock.now()))
    this.notify(touched)
    if (commit.outgoing?.some(({ kind }) => kind === 'dispatch')) this.onDispatch?.()
    return result
  }

  async terminate(runId: string, reason: string): Promise<{ ended: boolean; wakes: Wake[] }> {
    const { touched, ...result } = await this.db.write(() => terminateRun(this.db, runId, reason, this.clock.now()))
    this.notify(touched)
    return result
  }

  async revive(runId: string, event?: EventOf<'run.retried'>): Promise<{ revived: boolean; wakes: Wake[] }> {
    return this.db.write(() => reviveRun(this.db, runId, event, this.clock.now()))
  }

  async park(runId: string, error: ErrorRecord): Promise<'parked' | 'leased' | 'moved-on'> {
    const outcome = await this.db.write(() => parkRun(this.db, runId, error, this.clock.now()))
    if (outcome === 'parked') this.notify([runId])
    return outcome
  }

  async overdue(before: number, limit: number): Promise<Wake[]> {
    return this.db
      .rows('SELECT id, wake_at FROM runs WHERE wake_at <= ? ORDER BY wake_at LIMIT ?', before, limit)
      .map((row) => ({ runId: row.id as string, at: row.wake_at as number }))
  }

  watch(runId: string, onChange: () => void): () => void {
    const watchers = this.watchers.get(runId) ?? new Set()
    this.watchers.set(runId, watchers.add(onChange))
    return () => {
      watchers.delete(onChange)
      if (watchers.size === 0 && this.watchers.get(runId) === watchers) this.watchers.delete(runId)
    }
  }

  // --- for the local runner

  /** Calls back when another process has written to the file. */
  onForeignWrite(listener: () => void): () => void {
    this.foreignWriteListeners.add(listener)
    return () => this.foreignWriteListeners.delete(listener)
  }

  /** When the next run after `now` is due, if any is. */
  nextWake(now: number): number | undefined {
    return (this.db.row('SELECT min(wake_at) AS at FROM runs WHERE wake_at > ?', now)?.at as number | null) ?? undefined
  }

  /** Frees the runs of a runner that is known to be dead. They stay `running`, so whoever takes them knows. */
  releaseOwner(owner: string): Promise<number> {
    const now = this.clock.now()
    return this.db.write(() => this.db.run('UPDATE runs SET owner = NULL, lease_until = NULL, wake_at = ? WHERE owner = ?', now, owner))
  }

  /** Frees the runs of a runner that stops before it is done with them. */
  handBack(owner: string): Promise<number> {
    const now = this.clock.now()
    const sql = `UPDATE runs SET status = 'pending', epoch = epoch + 1, owner = NULL, lease_until = NULL, wake_at = ? WHERE owner = ?`
    return this.db.write(() => this.db.run(sql, now, owner))
  }

  stuckRuns(): string[] {
    return this.db.rows(`SELECT id FROM runs WHERE status = 'stuck'`).map((row) => row.id as string)
  }

  /** Deletes runs whose retention has passed. */
  purgeExpired(limit: number): Promise<number> {
    return this.db.write(() => {
      const rows = this.db.rows('SELECT key FROM runs WHERE expires_at <= ? LIMIT ?', this.clock.now(), limit)
      for (const { key } of rows) {
        for (const table of ['frames', 'payloads', 'inbox', 'tags', 'deaths']) this.db.run(`DELETE FROM ${table} WHERE run = ?`, key!)
        this.db.run('DELETE FROM runs WHERE key = ?', key!)
      }
      this.db.run('DELETE FROM tasks WHERE expires_at <= ?', this.clock.now())
      return rows.length
    })
  }

  close(): void {
    clearInterval(this.glance)
    this.db.close()
  }

  /** SQLite cannot call across processes; a glance at a counter is as cheap as it gets. */
  private watchOtherProcesses(): NodeJS.Timeout {
    const version = () => this.db.row('PRAGMA data_version')!.data_version as number
    let seen = version()
    return setInterval(() => {
      const now = version()
      if (now === seen) return
      seen = now
      this.notify([...this.watchers.keys()])
      for (const listener of this.foreignWriteListeners) listener()
    }, GLANCE_EVERY_MS).unref()
  }

  /** For whoever watches these runs. */
  notify(runIds: readonly string[]): void {
    if (this.watchers.size === 0) return
    for (const runId of runIds) for (const onChange of [...(this.watchers.get(runId) ?? [])]) onChange()
  }
}
