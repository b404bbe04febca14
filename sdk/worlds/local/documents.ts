import type { Json } from '../../engine/json.ts'
import type { Clock, Document, DocumentRange, DocumentStore } from '../../ports.ts'
import type { Database, Row } from './database.ts'

const ALIVE = '(expires_at IS NULL OR expires_at > ?)'

/** Documents in the same file as the runs. What has expired is overlooked until it is purged. */
export class SqliteDocuments implements DocumentStore {
  private readonly db: Database
  private readonly clock: Clock

  constructor(db: Database, clock: Clock) {
    this.db = db
    this.clock = clock
  }

  async get(collection: string, key: string): Promise<Document | undefined> {
    const row = this.find(collection, key)
    return row && toDocument(row)
  }

  async list(collection: string, { after, limit = -1, backwards = false }: DocumentRange = {}): Promise<Document[]> {
    const [beyond, order] = backwards ? ['<', 'DESC'] : ['>', 'ASC']
    const behind = after === undefined ? { sql: '', values: [] } : { sql: `AND key ${beyond} ?`, values: [after] }
    const sql = `SELECT * FROM documents WHERE collection = ? AND ${ALIVE} ${behind.sql} ORDER BY key ${order} LIMIT ?`
    return this.db.rows(sql, collection, this.clock.now(), ...behind.values, limit).map(toDocument)
  }

  put(collection: string, key: string, value: Json, options: { ifVersion?: number; expiresAt?: number } = {}): Promise<Document | undefined> {
    const { ifVersion, expiresAt } = options
    return this.db.write(() => {
      const there = (this.find(collection, key)?.version as number | undefined) ?? 0
      if (ifVersion !== undefined && ifVersion !== there) return undefined
      const row = this.db.row(
        'INSERT OR REPLACE INTO documents (collection, key, value, version, expires_at) VALUES (?, ?, ?, ?, ?) RETURNING *',
        collection,
        key,
        JSON.stringify(value),
        there + 1,
        expiresAt ?? null,
      )
      return toDocument(row!)
    })
  }

  delete(collection: string, key: string, ifVersion?: number): Promise<boolean> {
    return this.db.write(() => {
      const there = this.find(collection, key)
      if (!there || (ifVersion !== undefined && ifVersion !== there.version)) return false
      return this.db.run('DELETE FROM documents WHERE collection = ? AND key = ?', collection, key) === 1
    })
  }

  purgeExpired(): Promise<number> {
    return this.db.write(() => this.db.run('DELETE FROM documents WHERE expires_at <= ?', this.clock.now()))
  }

  private find(collection: string, key: string): Row | undefined {
    return this.db.row(`SELECT * FROM documents WHERE collection = ? AND key = ? AND ${ALIVE}`, collection, key, this.clock.now())
  }
}

function toDocument(row: Row): Document {
  return {
    key: row.key as string,
    value: JSON.parse(row.value as string) as Json,
    version: row.version as number,
    ...(row.expires_at !== null && { expiresAt: row.expires_at as number }),
  }
}
