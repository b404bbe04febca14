import type { Json } from '../base/json.ts'
import type { Unreadable } from '../flow/limiter/readable.ts'

/** A small named record that is not a run. */
export interface Document<T = Json> {
  key: string
  value: T
  /** 1, 2, …: each put makes the next one. Where there was nothing, or nothing any more, it begins with 1. */
  version: number
  /** From then on it counts as absent, whenever it is cleared away. */
  expiresAt?: number
  /** When it is to be looked at: until then, or until it is put without, it is among the due ones. */
  dueAt?: number
  /** Of a limiter's document that cannot be read: `value` is one that grants nothing. */
  unreadable?: Unreadable
}

export interface PutOptions {
  ifVersion?: number
  expiresAt?: number
  dueAt?: number
}

export interface DocumentRange {
  /** Begins behind this key, which need not exist. */
  after?: string
  /** Fewer come only if there are no more. */
  limit?: number
  /** From the last key to the first. */
  backwards?: boolean
}

/** Documents by collection and key. A read sees every write that was answered before. */
export interface DocumentStore {
  get(collection: string, key: string): Promise<Document | undefined>
  /** In the order of the keys' UTF-8 bytes. */
  list(collection: string, range?: DocumentRange): Promise<Document[]>
  /**
   * Written if it is still at `ifVersion` (0: only if absent; undefined: whatever is there); undefined when it was
   * not.
   */
  put(collection: string, key: string, value: Json, options?: PutOptions): Promise<Document | undefined>
  /** Whatever is there, and for good: nothing of it is left to be read over. */
  remove(collection: string, key: string): Promise<void>
  /** False when there was nothing to delete, or not at `ifVersion`. */
  delete(collection: string, key: string, ifVersion?: number): Promise<boolean>
}
