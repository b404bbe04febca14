import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import type { Json } from '../../base/json.ts'
import { LOOK_FOR_WHAT_IS_GONE, UnreadableRunError } from '../../rules/limits.ts'
import { dataKey, partition } from './keys.ts'
import type { ObjectStore } from './objects.ts'

/** JSON as an attribute holds it: as text, or deflated where that is smaller. */
export type Packed = string | Uint8Array

/**
 * Where a payload is: in the attribute itself, in an item or an S3 object of its own, or in a frame of the
 * journal.
 */
export type Stored = Packed | { item: string } | { s3: string } | { frame: number }

/** An update of the run item costs by its whole size, so only payloads up to this size are stored in it. */
const SMALL = 256
/** Shorter texts fit into a write unit anyway and are easier to read. */
const WORTH_DEFLATING = 600
/** An item may have 400 KB, names and other attributes included. */
const FITS_AN_ITEM = 350_000

export const isSmall = (packed: Packed): boolean => sizeOf(packed) <= SMALL

export function pack(value: unknown): Packed {
  const text = JSON.stringify(value)
  if (text.length < WORTH_DEFLATING) return text
  const deflated = deflateRawSync(text)
  return deflated.length < Buffer.byteLength(text) ? deflated : text
}

export const unpackText = (packed: Packed): string =>
  typeof packed === 'string' ? packed : inflateRawSync(packed).toString()
export const unpack = (packed: Packed): Json => JSON.parse(unpackText(packed)) as Json

/** The run that owns the payload. An id may be reused; the creation time tells its runs apart. */
export interface Owner {
  readonly id: string
  readonly createdAt: number
}

/** Whether a payload is in S3, where only an explicit removal deletes it in time. */
export const isObject = (stored: unknown): stored is { s3: string } =>
  typeof stored === 'object' && stored !== null && 's3' in stored

/** Payloads that are too large for where they belong. They are written before anything that points at them. */
export class Payloads {
  private readonly db: DynamoDBDocumentClient
  private readonly objects: ObjectStore
  private readonly table: string

  constructor(db: DynamoDBDocumentClient, objects: ObjectStore, table: string) {
    this.db = db
    this.objects = objects
    this.table = table
  }

  /**
   * For the run item. The name is the content's hash: writing it twice is harmless and never
   * shortens its lifetime.
   */
  async storeBeside(run: Owner, value: unknown, ttl: number | undefined): Promise<Stored | undefined> {
    if (value === undefined) return undefined
    const packed = pack(value)
    if (isSmall(packed)) return packed
    if (sizeOf(packed) > FITS_AN_ITEM) return this.upload(folderOf(run), packed)
    const item = `${ownPrefix(run)}${hash(packed)}`
    const Item = { pk: partition(run.id), sk: dataKey(item), data: packed, ttl }
    if (ttl === undefined) await this.db.send(new PutCommand({ TableName: this.table, Item }))
    else await this.putUnlessKeptLonger(Item, ttl)
    return { item }
  }

  /** For an item of its own, a frame or a message. */
  async storeInside(run: Owner, value: unknown): Promise<Packed | { s3: string }> {
    const packed = pack(value)
    return sizeOf(packed) > FITS_AN_ITEM ? this.upload(folderOf(run), packed) : packed
  }

  /** For a document, which may outlive every run. */
  async storeForGood(value: Json): Promise<Packed | { s3: string }> {
    const packed = pack(value)
    return sizeOf(packed) > FITS_AN_ITEM ? this.upload('documents', packed) : packed
  }

  async load(runId: string, stored: Exclude<Stored, { frame: number }>): Promise<Json> {
    return JSON.parse(await this.loadText(runId, stored)) as Json
  }

  async loadText(runId: string, stored: Exclude<Stored, { frame: number }>): Promise<string> {
    if (typeof stored === 'string' || stored instanceof Uint8Array) return unpackText(stored)
    if ('s3' in stored) return unpackText(await this.objects.get(stored.s3))
    const Key = { pk: partition(runId), sk: dataKey(stored.item) }
    const { Item } = await this.db.send(new GetCommand({ TableName: this.table, Key, ConsistentRead: true }))
    if (!Item)
      throw new UnreadableRunError(
        `a payload of run '${runId}' is missing from the table: ${Key.sk}. ${LOOK_FOR_WHAT_IS_GONE}`,
      )
    return unpackText(Item.data as Packed)
  }

  /**
   * The bucket's lifecycle rule removes objects of runs by age. An object that is still needed is
   * copied in place, or moved to a folder without such a rule. Returns its new place; undefined if
   * it is no object.
   */
  async renew(stored: unknown, folder: string): Promise<{ s3: string } | undefined> {
    if (!isObject(stored)) return undefined
    const before = stored.s3
    const after = `${folder}${before.slice(before.indexOf('/') + 1)}`
    await this.objects.put(after, await this.objects.get(before))
    return { s3: after }
  }

  /**
   * Removes every object of runs with this id that were created by then, referenced or not; none of
   * a later run, which may be about to begin.
   */
  async removeAll(runId: string, createdBy: number): Promise<void> {
    for (const folder of [RUN_PAYLOADS, KEPT_PAYLOADS]) {
      const prefix = `${folder}${runId}/`
      await this.objects.removeAll(prefix, (key) => {
        const [createdAt, hash] = key.slice(prefix.length).split('/')
        // Objects of 0.1.0 do not name the creation time of their run.
        return hash === undefined || Number(createdAt) <= createdBy
      })
    }
  }

  private async putUnlessKeptLonger(Item: Record<string, unknown>, ttl: number): Promise<void> {
    try {
      await this.db.send(
        new PutCommand({
          TableName: this.table,
          Item,
          ConditionExpression: 'attribute_not_exists(#pk) OR #ttl < :ttl',
          ExpressionAttributeNames: { '#pk': 'pk', '#ttl': 'ttl' },
          ExpressionAttributeValues: { ':ttl': ttl },
        }),
      )
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error
    }
  }

  private async upload(folder: string, packed: Packed): Promise<{ s3: string }> {
    const key = `${folder}/${hash(packed)}`
    await this.objects.put(key, typeof packed === 'string' ? deflateRawSync(packed) : packed)
    return { s3: key }
  }
}

/** The bucket's lifecycle rule removes these by age. */
export const RUN_PAYLOADS = 'runs/'
/** Payloads of runs that wait without a deadline. */
export const KEPT_PAYLOADS = 'kept/'
const folderOf = ({ id, createdAt }: Owner): string => `${RUN_PAYLOADS}${id}/${createdAt}`
/** What the names of a run's payload items begin with; those of 0.1.0 are bare hashes. */
const ownPrefix = ({ createdAt }: Pick<Owner, 'createdAt'>): string => `${createdAt}.`

const sizeOf = (packed: Packed): number => Buffer.byteLength(packed)
const hash = (packed: Packed): string => createHash('sha256').update(packed).digest('hex')
