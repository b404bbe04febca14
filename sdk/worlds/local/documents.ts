import type { Json } from '../../base/json.ts'
import { parsed, readable } from '../../flow/limiter/readable.ts'
import type { Document, DocumentRange, DocumentStore, PutOptions } from '../../ports/documents.ts'
import type { Clock } from '../../ports/world.ts'
import type { StoredDocuments } from '../../rules/storage.ts'
import { BOUND, type Database, type Value } from './database.ts'

const ALIVE = '(expires_at IS NULL OR expires_at > ?)'
const COLUMNS = 'key, value, version, expires_at, due_at'

/**
 * Documents in the same file as the runs, for callers inside a transaction. Expired documents are
 * skipped until they are purged.
 */
export class DocumentRows implements StoredDocuments {
  private readonly db: Database
  private readonly clock: Clock
  /** Called when a document is to be looked at, at a time. */
  onDue: ((at: number) => void) | undefined

  constructor(db: Database, clock: Clock) {
    this.db = db
    this.clock = clock
  }

  get(collection: string, key: string): Document | undefined {
    const values = this.db.values(
      `SELECT ${COLUMNS} FROM documents WHERE collection = ? AND key = ? AND ${ALIVE}`,
      collection,
      key,
      this.clock.now(),
    )
    return values && toDocument(collection, values)
  }

  list(collection: string, { after, limit, backwards = false }: DocumentRange = {}): Document[] {
    const [beyond, order] = backwards ? ['<', 'DESC'] : ['>', 'ASC']
    const behind = after === undefined ? { sql: '', values: [] } : { sql: ` AND key ${beyond} ?`, values: [after] }
    const most = limit === undefined ? { sql: '', values: [] } : { sql: ` LIMIT ${BOUND}`, values: [limit] }
    const sql =
      `SELECT ${COLUMNS} FROM documents WHERE collection = ? AND ${ALIVE}${behind.sql} ORDER BY key ` +
      `${order}${most.sql}`
    return this.db
      .allValues(sql, collection, this.clock.now(), ...behind.values, ...most.values)
      .map((values) => toDocument(collection, values))
  }

  put(
    collection: string,
    key: string,
    value: Json,
    { ifVersion, expiresAt, dueAt }: PutOptions = {},
  ): Document | undefined {
    const there = this.versionOf(collection, key)
    if (ifVersion !== undefined && ifVersion !== there) return undefined
    const version = there + 1
    const sql =
      'INSERT OR REPLACE INTO documents (collection, key, value, version, expires_at, due_at) VALUES (?, ?, ?, ?, ?, ?)'
    this.db.run(sql, collection, key, JSON.stringify(value), version, expiresAt ?? null, dueAt ?? null)
    if (dueAt !== undefined) this.onDue?.(dueAt)
    return { key, value, version, ...(expiresAt !== undefined && { expiresAt }), ...(dueAt !== undefined && { dueAt }) }
  }

  delete(collection: string, key: string, ifVersion?: number): boolean {
    const there = this.versionOf(collection, key)
    if (there === 0 || (ifVersion !== undefined && ifVersion !== there)) return false
    return this.db.run('DELETE FROM documents WHERE collection = ? AND key = ?', collection, key) === 1
  }

  remove(collection: string, key: string): void {
    this.db.run('DELETE FROM documents WHERE collection = ? AND key = ?', collection, key)
  }

  due(before: number, limit: number): { collection: string; key: string }[] {
    const sql = `SELECT collection, key FROM documents WHERE due_at <= ? AND ${ALIVE} ORDER BY due_at LIMIT ${BOUND}`
    return this.db
      .allValues(sql, before, this.clock.now(), limit)
      .map(([collection, key]) => ({ collection: collection as string, key: key as string }))
  }

  countUp(collection: string, key: string, ifNew: Json, expiresAt: number): Document {
    const found = this.get(collection, key)
    if (!found) return this.put(collection, key, ifNew, { ifVersion: 0, expiresAt })!
    const version = found.version + 1
    this.db.run(
      'UPDATE documents SET version = ?, expires_at = ? WHERE collection = ? AND key = ?',
      version,
      expiresAt,
      collection,
      key,
    )
    return { ...found, version, expiresAt }
  }

  endCount(collection: string, key: string, value: Json, version: number): boolean {
    const sql = `DELETE FROM documents WHERE collection = ? AND key = ? AND version = ? AND value = ? AND ${ALIVE}`
    return this.db.run(sql, collection, key, version, JSON.stringify(value), this.clock.now()) === 1
  }

  purgeExpired(): number {
    return this.db.run('DELETE FROM documents WHERE expires_at <= ?', this.clock.now())
  }

  private versionOf(collection: string, key: string): number {
    const sql = `SELECT version FROM documents WHERE collection = ? AND key = ? AND ${ALIVE}`
    return (this.db.values(sql, collection, key, this.clock.now())?.[0] as number | undefined) ?? 0
  }
}

/** The same for callers outside a transaction. */
export class SqliteDocuments implements DocumentStore {
  private readonly db: Database
  private readonly documents: DocumentRows

  constructor(db: Database, documents: DocumentRows) {
    this.db = db
    this.documents = documents
  }

  async get(collection: string, key: string): Promise<Document | undefined> {
    return this.documents.get(collection, key)
  }

  async list(collection: string, range?: DocumentRange): Promise<Document[]> {
    return this.documents.list(collection, range)
  }

  put(collection: string, key: string, value: Json, options?: PutOptions): Promise<Document | undefined> {
    return this.db.write(() => this.documents.put(collection, key, value, options))
  }

  delete(collection: string, key: string, ifVersion?: number): Promise<boolean> {
    return this.db.write(() => this.documents.delete(collection, key, ifVersion))
  }

  remove(collection: string, key: string): Promise<void> {
    return this.db.write(() => this.documents.remove(collection, key))
  }

  purgeExpired(): Promise<number> {
    return this.db.write(() => this.documents.purgeExpired())
  }
}

function toDocument(collection: string, [key, value, version, expiresAt, dueAt]: Value[]): Document {
  return readable(collection, {
    key: key as string,
    value: parsed(collection, value as string),
    version: version as number,
    ...(expiresAt !== null && { expiresAt: expiresAt as number }),
    ...(dueAt !== null && { dueAt: dueAt as number }),
  })
}
