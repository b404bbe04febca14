import type { Frame } from '../../base/events.ts'
import { KEYED_BEGIN } from '../../base/names.ts'
import type { NewRun, Reply, RunRecord } from '../../ports/run.ts'
import type { RunCounts, RunFilter, RunPage } from '../../ports/run-lists.ts'
import type { Clock, Wake } from '../../ports/world.ts'
import { changed, holds, isGone } from '../../rules/guard.ts'
import { inOneGo, type Procedure } from '../../rules/procedure.ts'
import { known, newRecord } from '../../rules/run-store.ts'
import type { Change, Forgotten, Mail, Storage, Updated } from '../../rules/storage.ts'
import type { NewTask, Task } from '../../tasks/task.ts'
import { write } from './changes.ts'
import { BOUND, type Database } from './database.ts'
import type { DocumentRows } from './documents.ts'
import { insertFrame, selectFrames } from './frames.ts'
import { JournalCache } from './journal-cache.ts'
import { countRuns, listRuns } from './list.ts'
import { type Row, rowOf, selectRecord, selectState, selectWhole, text } from './rows.ts'
import { insertTask, selectTask, updateTask } from './task-rows.ts'

const HAS_NO_KEY = `NOT (${KEYED_BEGIN.map((begin) => `id GLOB '${begin}*'`).join(' OR ')})`

/** An upper bound, for a process that starts runs but claims none. */
const MOST_FRESH = 2_000

/** What other parts of the process need to know of a transaction. */
interface News {
  touched: readonly string[]
  /** Messages that have a reply; undefined stands for all messages of the run, so all askers read it. */
  answered: readonly (readonly [runId: string, messageId: string | undefined])[]
  hasDispatched: boolean
}
const NO_NEWS: News = { touched: [], answered: [], hasDispatched: false }

/** The parties that are notified after a write. */
export interface Audience {
  changed(runIds: readonly string[]): void
  answered(news: News['answered']): void
  dispatched(): void
}

interface Watching {
  watch(runId: string, onChange: () => void, isHolder: boolean): () => void
  watchReply(runId: string, messageId: string, onChange: () => void): () => void
}

/**
 * Runs, journals and inboxes in one SQLite file. A procedure is one transaction, or shares one with
 * others (group commit).
 */
export class SqliteStorage implements Storage {
  private readonly db: Database
  private readonly clock: Clock
  private readonly audience: Audience & Watching
  private readonly journals = new JournalCache()
  /** Runs made here and not yet claimed. */
  private readonly fresh = new Map<string, Row>()
  /** What this transaction has read: no other process can change it meanwhile. */
  private readonly seen = new Map<string, Row>()
  /** Runs that this process has claimed, as they were then: a commit names only run and epoch. */
  private readonly claimed = new Map<string, Row>()
  private news: News = NO_NEWS
  readonly documents: DocumentRows
  readonly isContended = false

  constructor(db: Database, clock: Clock, audience: Audience & Watching, documents: DocumentRows) {
    this.documents = documents
    this.db = db
    this.clock = clock
    this.audience = audience
  }

  now(): number {
    return this.clock.now()
  }

  perform<T>(procedure: () => Procedure<T>, durability?: 'mayBeLost'): Promise<T> {
    let news: News = NO_NEWS
    const operation = () => {
      this.seen.clear()
      this.news = NO_NEWS
      const result = inOneGo(procedure())
      news = this.news
      return result
    }
    return this.db.write(operation, durability, () => {
      if (news === NO_NEWS) return
      if (news.touched.length > 0) this.audience.changed(news.touched)
      if (news.answered.length > 0) this.audience.answered(news.answered)
      if (news.hasDispatched) this.audience.dispatched()
    })
  }

  async read<T>(procedure: () => Procedure<T>): Promise<T> {
    this.seen.clear()
    return inOneGo(procedure())
  }

  /** Returned to the caller that began the transaction, which sends them after it. */
  wake(wakes: Wake[]): Wake[] {
    return wakes
  }

  find(runId: string, whole?: 'whole'): Row | undefined {
    const row = this.row(runId, whole)
    return row && !isGone(row, this.now()) ? row : undefined
  }

  held(runId: string, epoch: number): Row | undefined {
    const known = this.claimed.get(runId)
    if (known?.epoch !== epoch) return this.heldByOtherProcess(runId, epoch)
    const now = this.db.values(
      `SELECT stimulus FROM runs WHERE key = ? AND epoch = ? AND status = 'running'`,
      known.key,
      epoch,
    )
    if (!now) return undefined
    const row = now[0] === known.stimulus ? known : { ...known, stimulus: now[0] as number }
    this.seen.set(runId, row)
    return row
  }

  record(row: Row): RunRecord {
    return row.whole ?? selectRecord(this.db, row)
  }

  insert(run: NewRun): { inserted: boolean; run: Row } {
    this.fresh.delete(run.id)
    const key = this.insertRun(run)
    if (key === undefined) {
      const there = this.row(run.id)!
      if (!isGone(there, this.now())) return { inserted: false, run: there }
      this.purge(there.key)
      this.seen.delete(run.id)
      return this.insert(run)
    }
    this.db.run(
      'INSERT INTO payloads (run, input, parsed, trace) VALUES (?, ?, ?, ?)',
      key,
      text(run.input),
      text(run.parsed),
      text(run.trace),
    )
    for (const tag of run.tags) this.db.run('INSERT OR IGNORE INTO tags (tag, run) VALUES (?, ?)', tag, key)
    if (run.journal) insertFrame(this.db, key, run.journal)
    const { wakeAt: _, ...waiting } = newRecord(run)
    const row = rowOf(key, run.status === 'queued' ? waiting : newRecord(run))
    if (!run.journal && run.status !== 'queued' && this.fresh.size < MOST_FRESH && run.wakeAt <= this.now())
      this.fresh.set(run.id, row)
    return { inserted: true, run: row }
  }

  update(run: Row | string, change: Change): Updated {
    const runId = typeof run === 'string' ? run : run.id
    if (change.setOnce) return this.claim(runId, change)
    const row = this.row(runId)
    if (!row || !holds(change.when, row)) return { ok: false, run: row }
    write(this.db, row, change)
    // No waiter is interested in a claim, and its runner knows of it.
    if (change.set?.status !== undefined && change.set.status !== 'running') this.tell(runId)
    if (change.set?.status === 'stuck' || change.set?.endedAt !== undefined) this.tellAskers(runId)
    return { ok: true, run: this.note(changed({ ...row, whole: undefined }, change)) }
  }

  append(row: Row, frame: Frame): boolean {
    return insertFrame(this.db, row.key, frame)
  }

  frames(row: Row, fromSeq: number): Frame[] {
    return selectFrames(this.db, row, fromSeq)
  }

  load(row: Row): { heading?: Frame; frames: Frame[]; inbox: Mail[] } {
    const frames = row.epoch === 1 ? [] : this.journals.load(this.db, row)
    const heading = row.baseSeq > 0 ? selectFrames(this.db, row, row.baseSeq, row.baseSeq)[0]! : undefined
    return { ...(heading && { heading }), frames, inbox: row.stimulus > 0 ? this.messages(row) : [] }
  }

  dropFrames(row: Row, before: number): void {
    this.db.run('DELETE FROM frames WHERE run = ? AND seq < ?', row.key, before)
  }

  putMessage(row: Row, message: Mail): 'new' | 'waiting' | 'consumed' {
    const { db } = this
    if (
      db.run(
        'INSERT OR IGNORE INTO inbox (run, id, body, at) VALUES (?, ?, ?, ?)',
        row.key,
        message.id,
        JSON.stringify(message),
        this.now(),
      ) === 1
    ) {
      this.tell(row.id)
      return 'new'
    }
    return db.row('SELECT body FROM inbox WHERE run = ? AND id = ?', row.key, message.id)!.body === null
      ? 'consumed'
      : 'waiting'
  }

  messages(row: Row): Mail[] {
    const rows = this.db.rows('SELECT body FROM inbox WHERE run = ? AND body IS NOT NULL ORDER BY position', row.key)
    return rows.map(({ body }) => JSON.parse(body as string) as Mail)
  }

  messagesAfter(row: Row, after: number): { messages: Mail[]; last: number } {
    const last =
      (this.db.values("SELECT seq FROM sqlite_sequence WHERE name = 'inbox'")?.[0] as number | undefined) ?? 0
    if (after === 0) return { messages: this.messages(row), last }
    // By key (`+run`): what arrived since is short, what the run has not consumed may be long.
    const sql = 'SELECT body FROM inbox WHERE position > ? AND +run = ? AND body IS NOT NULL ORDER BY position'
    return { messages: this.db.rows(sql, after, row.key).map(({ body }) => JSON.parse(body as string) as Mail), last }
  }

  findMessage(row: Row, messageId: string): Mail | undefined {
    const found = this.db.row('SELECT body FROM inbox WHERE run = ? AND id = ?', row.key, messageId)?.body
    return typeof found === 'string' ? (JSON.parse(found) as Mail) : undefined
  }

  removeMessages(row: Row, ids: readonly string[]): void {
    for (const id of ids) this.db.run('DELETE FROM inbox WHERE run = ? AND id = ?', row.key, id)
  }

  consume(row: Row, ids: readonly string[]): void {
    for (const id of ids) this.db.run('UPDATE inbox SET body = NULL WHERE run = ? AND id = ?', row.key, id)
  }

  putReply(row: Row, messageId: string, reply: Reply): void {
    const sql = 'UPDATE inbox SET reply = ?, at = ? WHERE run = ? AND id = ? AND reply IS NULL'
    if (this.db.run(sql, JSON.stringify(reply), this.now(), row.key, messageId) === 1)
      this.tellAskers(row.id, messageId)
  }

  findReply(row: Row, messageId: string): Reply | undefined {
    const found = this.db.row('SELECT reply FROM inbox WHERE run = ? AND id = ?', row.key, messageId)?.reply
    return typeof found === 'string' ? (JSON.parse(found) as Reply) : undefined
  }

  clearMail(row: Row, which: 'all' | Forgotten): void {
    if (row.stimulus === 0) return
    const { db } = this
    if (which === 'all') return void db.run('DELETE FROM inbox WHERE run = ? AND reply IS NULL', row.key)
    const { keyedBefore, othersBefore } = which
    // No call is ever repeated here, so a message without key or reply need not be recognised
    // again.
    const old = `at < ? OR (${HAS_NO_KEY} AND (reply IS NULL OR at < ?))`
    db.run(`DELETE FROM inbox WHERE run = ? AND body IS NULL AND (${old})`, row.key, keyedBefore, othersBefore)
  }

  findTask(taskId: string): Task | undefined {
    return selectTask(this.db, taskId)
  }

  putTask(_run: Row, task: NewTask, older?: Task): { ok: true; task: Task } | { ok: false; there: Task } {
    const there = selectTask(this.db, task.id)
    if (there && there.version !== older?.version) return { ok: false, there }
    return { ok: true, task: insertTask(this.db, task, (there?.version ?? 0) + 1) }
  }

  writeTask(task: Task): boolean {
    return updateTask(this.db, task, this.now())
  }

  announceTask(): void {
    this.news = { ...this.news, hasDispatched: true }
  }

  dismissTask(): void {}

  erase(row: Row, taskIds: readonly string[]): void {
    this.purge(row.key)
    for (const id of taskIds) this.db.run('DELETE FROM tasks WHERE id = ?', id)
    // Those of earlier generations too, which the journal no longer mentions.
    this.db.run(`DELETE FROM tasks WHERE body ->> '$.runId' = ?`, row.id)
    this.fresh.delete(row.id)
    this.seen.delete(row.id)
    this.tellAskers(row.id)
  }

  eraseRemains(runId: string): boolean {
    const row = this.db.row('SELECT key FROM runs WHERE id = ? AND expires_at <= ?', runId, this.now())
    if (row) this.purge(row.key as number)
    return row !== undefined
  }

  eraseFormer(tag: string): Promise<{ erased: number; cursor?: string }> {
    return this.db.write(() => {
      const sql = 'SELECT key FROM runs WHERE expires_at <= ? AND key IN (SELECT run FROM tags WHERE tag = ?) LIMIT 100'
      const rows = this.db.rows(sql, this.now(), tag)
      for (const { key } of rows) this.purge(key as number)
      return rows.length === 0 ? { erased: 0 } : { erased: rows.length, cursor: 'more' }
    })
  }

  async list(filter: RunFilter): Promise<RunPage> {
    return listRuns(this.db, filter, this.now())
  }

  async counts(): Promise<RunCounts> {
    return countRuns(this.db, this.now())
  }

  async overdue(before: number, limit: number): Promise<Wake[]> {
    const sql = `SELECT id, coalesce(lease_until, wake_at) AS at FROM runs WHERE coalesce(lease_until, wake_at) <= ? AND wake_at IS NOT NULL
      ORDER BY coalesce(lease_until, wake_at) LIMIT ${BOUND}`
    return this.db.allValues(sql, before, limit).map(([id, at]) => ({ runId: id as string, at: at as number }))
  }

  async dueDocuments(before: number, limit: number): Promise<{ collection: string; key: string }[]> {
    return this.documents.due(before, limit)
  }

  watch(runId: string, onChange: () => void, seen?: Pick<RunRecord, 'epoch' | 'stimulus'>): () => void {
    return this.audience.watch(runId, onChange, seen !== undefined)
  }

  watchReply(runId: string, messageId: string, onChange: () => void): () => void {
    return this.audience.watchReply(runId, messageId, onChange)
  }

  /** Deletes runs whose retention has passed, at most so many; and tasks. */
  purgeExpired(limit: number): Promise<number> {
    return this.db.write(() => {
      const rows = this.db.rows('SELECT key FROM runs WHERE expires_at <= ? LIMIT ?', this.now(), limit)
      for (const { key } of rows) this.purge(key as number)
      this.db.run('DELETE FROM tasks WHERE expires_at <= ?', this.now())
      return rows.length
    })
  }

  private purge(key: number): void {
    // SQLite may reuse the key for another run.
    this.journals.forget(key)
    for (const table of ['frames', 'payloads', 'inbox', 'tags']) this.db.run(`DELETE FROM ${table} WHERE run = ?`, key)
    this.db.run('DELETE FROM runs WHERE key = ?', key)
  }

  private tell(runId: string): void {
    this.news = { ...this.news, touched: [...this.news.touched, runId] }
  }

  /** A reply notifies only the caller that asked for it; an end notifies all callers. */
  private tellAskers(runId: string, messageId?: string): void {
    if (messageId === undefined) this.tell(runId)
    this.news = { ...this.news, answered: [...this.news.answered, [runId, messageId]] }
  }

  private note(row: Row): Row {
    this.seen.set(row.id, row)
    // Without the other columns, which may be large.
    if (row.status === 'running') this.claimed.set(row.id, row.whole ? { ...row, whole: undefined } : row)
    else this.claimed.delete(row.id)
    return row
  }

  private heldByOtherProcess(runId: string, epoch: number): Row | undefined {
    const row = this.row(runId)
    return row?.epoch === epoch && row.status === 'running' ? row : undefined
  }

  private row(runId: string, whole?: 'whole'): Row | undefined {
    const known = this.seen.get(runId)
    if (known && (!whole || known.whole)) return known
    const row = whole ? selectWhole(this.db, runId) : selectState(this.db, runId)
    if (row) this.seen.set(runId, row)
    return row
  }

  /**
   * A claim returns the whole run. Most claims are the first one of a new run, which is in memory
   * unless another call has changed it since.
   */
  private claim(runId: string, change: Change): Updated {
    const fresh = this.fresh.get(runId)
    if (fresh) {
      this.fresh.delete(runId)
      if (holds(change.when, fresh) && write(this.db, fresh, change, true))
        return { ok: true, run: this.note(afterClaim(fresh, change)) }
    }
    const row = this.row(runId, 'whole')
    if (!row || !holds(change.when, row)) return { ok: false, run: row }
    write(this.db, row, change)
    return { ok: true, run: this.note(afterClaim(row, change)) }
  }

  private insertRun(run: NewRun): number | undefined {
    const row = this.db.row(
      `INSERT INTO runs (id, workflow, version, format, status, wake_at, secret, parent_id, parent_op, parent_generation, tags, created_at, retention_ms, reparse, epoch, admission, passed)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING key`,
      run.id,
      run.workflow,
      run.version,
      run.format,
      run.status ?? 'pending',
      // The process that grants a queued run its permit also wakes it.
      run.status === 'queued' ? null : run.wakeAt,
      run.secret,
      run.parent?.runId ?? null,
      run.parent?.op ?? null,
      run.parent?.generation ?? null,
      run.tags.length > 0 ? JSON.stringify(run.tags) : null,
      run.createdAt,
      run.retentionMs ?? null,
      run.reparse ? 1 : null,
      // A run that was never claimed has no journal to load; a rerun is created with one.
      run.journal ? 1 : 0,
      run.admission ? JSON.stringify(known(run.admission)) : null,
      run.passed ?? null,
    )
    return row?.key as number | undefined
  }
}

function afterClaim(before: Row, change: Change): Row {
  const row = changed(before, change)
  const { status, epoch, leaseUntil: wakeAt } = row
  return { ...row, whole: { ...change.setOnce, ...before.whole!, status, epoch, wakeAt: wakeAt! } }
}
