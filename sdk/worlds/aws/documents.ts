import { DeleteCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import type { Json } from '../../base/json.ts'
import { isOfLimiters, parsed, readable } from '../../flow/limiter/readable.ts'
import type { Document, DocumentRange, DocumentStore, PutOptions } from '../../ports/documents.ts'
import { inParallel } from '../../rules/procedure.ts'
import { type Aws, newToken } from './context.ts'
import { absent, all, any, change, type Expression, exists } from './expressions.ts'
import { getItem, updateIf } from './items.ts'
import { documentDueIndex, documentKey, type Key, timeOf } from './keys.ts'
import { isObject, type Packed, pack, unpackText } from './payloads.ts'

/** A document as the table holds it. */
interface DocumentItem extends Key {
  value: Packed | { s3: string }
  version: number
  /** Token of the call that wrote it, and of the call before, which may still be waiting for its answer. */
  writer: string
  writerBefore: string
  expiresAt?: number
  /** When DynamoDB's TTL may remove it, up to days later. */
  ttl?: number
  dueShard?: string
  dueKey?: string
}

const isGone = (now: number): Expression => any(absent, { text: '#expiresAt <= :now', values: { ':now': now } })
const isAlive = (now: number): Expression =>
  all(exists, any({ text: 'attribute_not_exists(#expiresAt)' }, { text: '#expiresAt > :now', values: { ':now': now } }))
const isAt = (version: number): Expression => ({ text: '#version = :version', values: { ':version': version } })

/** Documents in the table of the runs. */
export class DynamoDocuments implements DocumentStore {
  private readonly aws: Aws

  constructor(aws: Aws) {
    this.aws = aws
  }

  async get(collection: string, key: string): Promise<Document | undefined> {
    const item = await this.find(collection, key)
    return item && this.toDocument(collection, item)
  }

  async list(collection: string, range: DocumentRange = {}): Promise<Document[]> {
    return inParallel(await this.query(collection, range), (item) => this.toDocument(collection, item))
  }

  async put(collection: string, key: string, value: Json, options: PutOptions = {}): Promise<Document | undefined> {
    const { ifVersion, expiresAt, dueAt } = options
    const due = dueAt === undefined ? NOT_DUE : documentDueIndex(collection, key, dueAt)
    const stored = await this.aws.payloads.storeForGood(value)
    for (;;) {
      const before = ifVersion ?? (await this.find(collection, key))?.version ?? 0
      const now = this.aws.clock.now()
      const next = { value: stored, version: before + 1, expiresAt, ttl: ttlOf(expiresAt), ...due }
      if (await this.write(collection, key, next, before === 0 ? isGone(now) : all(isAlive(now), isAt(before)))) {
        return {
          key,
          value,
          version: next.version,
          ...(expiresAt !== undefined && { expiresAt }),
          ...(dueAt !== undefined && { dueAt }),
        }
      }
      if (ifVersion !== undefined) return undefined
    }
  }

  /**
   * Marks it as expired instead of removing it: a call whose answer was lost can tell that it was
   * the one that deleted it.
   */
  async delete(collection: string, key: string, ifVersion?: number): Promise<boolean> {
    const now = this.aws.clock.now()
    const condition = ifVersion === undefined ? isAlive(now) : all(isAlive(now), isAt(ifVersion))
    return this.write(collection, key, { ...GONE, ttl: ttlOf(now) }, condition)
  }

  /** The update has no version in its condition, so none of many concurrent calls is refused. */
  async countUp(collection: string, key: string, ifNew: Json, expiresAt: number): Promise<Document> {
    const ttl = ttlOf(expiresAt)
    for (;;) {
      const update = change({ expiresAt, ttl }, { text: '#version = #version + :one', values: { ':one': 1 } })
      const counted = await updateIf<DocumentItem>(
        this.aws,
        documentKey(collection, key),
        update,
        isAlive(this.aws.clock.now()),
      )
      if (counted.ok) return this.toDocument(collection, counted.item)
      const first = await this.put(collection, key, ifNew, { ifVersion: 0, expiresAt })
      if (first) return first
    }
  }

  async endCount(collection: string, key: string, value: Json, version: number): Promise<boolean> {
    const now = this.aws.clock.now()
    const isThisOne: Expression = { text: '#value = :value', values: { ':value': pack(value) } }
    return this.write(collection, key, { ...GONE, ttl: ttlOf(now) }, all(isAlive(now), isAt(version), isThisOne))
  }

  /**
   * Expired documents stay until DynamoDB's TTL removes them, and a list reads past them; this
   * removes at once.
   */
  async remove(collection: string, key: string): Promise<void> {
    await this.aws.db.send(new DeleteCommand({ TableName: this.aws.table, Key: documentKey(collection, key) }))
  }

  private async write(
    collection: string,
    key: string,
    attributes: { [K in keyof DocumentItem]?: DocumentItem[K] | undefined },
    condition: Expression,
  ): Promise<boolean> {
    const writer = newToken()
    const update = change(
      { ...attributes, writer },
      { text: '#writerBefore = if_not_exists(#writer, :nobody)', values: { ':nobody': '' } },
    )
    const written = await updateIf<DocumentItem>(this.aws, documentKey(collection, key), update, condition)
    return written.ok || written.old?.writer === writer || written.old?.writerBefore === writer
  }

  private async find(collection: string, key: string): Promise<DocumentItem | undefined> {
    const item = await getItem<DocumentItem>(this.aws, documentKey(collection, key))
    return item && this.lives(item) ? item : undefined
  }

  private async query(
    collection: string,
    { after, limit = Number.POSITIVE_INFINITY, backwards = false }: DocumentRange,
  ): Promise<DocumentItem[]> {
    const items: DocumentItem[] = []
    let start: Record<string, unknown> | undefined
    do {
      const page = await this.aws.db.send(
        new QueryCommand({
          TableName: this.aws.table,
          KeyConditionExpression: after === undefined ? 'pk = :pk' : `pk = :pk AND sk ${backwards ? '<' : '>'} :after`,
          ExpressionAttributeValues: {
            ':pk': documentKey(collection, '').pk,
            ...(after !== undefined && { ':after': after }),
          },
          ScanIndexForward: !backwards,
          ConsistentRead: true,
          ExclusiveStartKey: start,
          ...(limit <= 1_000 && { Limit: limit }),
        }),
      )
      items.push(...((page.Items ?? []) as DocumentItem[]).filter((item) => this.lives(item)))
      start = page.LastEvaluatedKey
    } while (start && items.length < limit)
    return items.slice(0, limit)
  }

  private lives({ expiresAt }: DocumentItem): boolean {
    return expiresAt === undefined || expiresAt > this.aws.clock.now()
  }

  private async toDocument(
    collection: string,
    { sk, value, version, expiresAt, dueKey }: DocumentItem,
  ): Promise<Document> {
    return readable(collection, {
      key: sk,
      value: isOfLimiters(collection)
        ? await this.anyValue(collection, value)
        : await this.aws.payloads.load('', value),
      version,
      ...(expiresAt !== undefined && { expiresAt }),
      ...(dueKey !== undefined && { dueAt: timeOf(dueKey) }),
    })
  }

  /**
   * The value of a limiter, which an operator may have edited by hand. Text that is not JSON is
   * returned as text, which no limiter has for a value.
   */
  private async anyValue(collection: string, stored: unknown): Promise<Json> {
    if (isObject(stored)) return this.aws.payloads.load('', stored)
    return parsed(
      collection,
      typeof stored === 'string'
        ? stored
        : stored instanceof Uint8Array
          ? textOf(stored)
          : String(JSON.stringify(stored)),
    )
  }
}

function textOf(stored: Uint8Array): string {
  try {
    return unpackText(stored)
  } catch {
    return `${stored.length} bytes that cannot be inflated`
  }
}

const NOT_DUE = { dueShard: undefined, dueKey: undefined }
/** Expired for every clock, also for one that runs slow. */
const GONE = { value: 'null', expiresAt: 0, ...NOT_DUE }
const ttlOf = (expiresAt: number | undefined): number | undefined =>
  expiresAt === undefined ? undefined : Math.ceil(expiresAt / 1_000)
