import type { Json } from '../../../sdk/base/json.ts'
import { readable } from '../../../sdk/flow/limiter/readable.ts'
import type { Document, DocumentRange, DocumentStore, PutOptions } from '../../../sdk/ports/documents.ts'
import type { Clock } from '../../../sdk/ports/world.ts'
import type { StoredDocuments } from '../../../sdk/rules/storage.ts'

const copy = <T>(value: T): T => structuredClone(value)

export class MemoryRows implements StoredDocuments {
  private readonly all = new Map<string, Document & { collection: string }>()
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  get(collection: string, key: string): Document | undefined {
    const found = this.all.get(`${collection}\n${key}`)
    if (!found || (found.expiresAt !== undefined && found.expiresAt <= this.clock.now())) return undefined
    const { collection: _, ...document } = copy(found)
    return readable(collection, document)
  }

  list(collection: string, { after, limit, backwards = false }: DocumentRange = {}): Document[] {
    const keys = [...this.all.values()].filter((each) => each.collection === collection).map(({ key }) => key)
    keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    if (backwards) keys.reverse()
    const order = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b)) * (backwards ? -1 : 1)
    const wanted = keys.filter((key) => after === undefined || order(key, after) > 0)
    const documents = wanted.map((key) => this.get(collection, key)).filter((each) => each !== undefined)
    return documents.slice(0, limit)
  }

  put(collection: string, key: string, value: Json, options: PutOptions = {}): Document | undefined {
    const before = this.versionOf(collection, key) ?? 0
    const { ifVersion, expiresAt, dueAt } = options
    if (ifVersion !== undefined && ifVersion !== before) return undefined
    const times = { ...(expiresAt !== undefined && { expiresAt }), ...(dueAt !== undefined && { dueAt }) }
    this.all.set(`${collection}\n${key}`, { collection, key, value: copy(value), version: before + 1, ...times })
    return this.get(collection, key)
  }

  delete(collection: string, key: string, ifVersion?: number): boolean {
    const version = this.versionOf(collection, key)
    if (version === undefined || (ifVersion !== undefined && ifVersion !== version)) return false
    return this.all.delete(`${collection}\n${key}`)
  }

  remove(collection: string, key: string): void {
    this.all.delete(`${collection}\n${key}`)
  }

  due(before: number, limit: number): { collection: string; key: string }[] {
    const due = [...this.all.values()].filter(
      ({ collection, key, dueAt }) => dueAt !== undefined && dueAt <= before && this.get(collection, key),
    )
    return due
      .sort((a, b) => a.dueAt! - b.dueAt!)
      .slice(0, limit)
      .map(({ collection, key }) => ({ collection, key }))
  }

  countUp(collection: string, key: string, ifNew: Json, expiresAt: number): Document {
    const found = this.get(collection, key)
    return this.put(collection, key, found?.value ?? ifNew, { expiresAt })!
  }

  endCount(collection: string, key: string, value: Json, version: number): boolean {
    const found = this.get(collection, key)
    return JSON.stringify(found?.value) === JSON.stringify(value) && this.delete(collection, key, version)
  }

  private versionOf(collection: string, key: string): number | undefined {
    const found = this.all.get(`${collection}\n${key}`)
    return found && !(found.expiresAt !== undefined && found.expiresAt <= this.clock.now()) ? found.version : undefined
  }
}

export function memoryDocuments(rows: MemoryRows): DocumentStore {
  return {
    get: async (...asked) => rows.get(...asked),
    list: async (...asked) => rows.list(...asked),
    put: async (...asked) => rows.put(...asked),
    delete: async (...asked) => rows.delete(...asked),
    remove: async (...asked) => rows.remove(...asked),
  }
}
