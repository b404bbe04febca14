import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { type DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import type { Json } from '../../engine/json.ts'
import { dataKey, partition } from './keys.ts'
import type { Objects } from './objects.ts'

/** JSON as it lies in an attribute: as text, or deflated where that is smaller. */
export type Packed = string | Uint8Array

/** Where a payload is: in the attribute itself, in an item or an S3 object of its own, or in a frame of the journal. */
export type Stored = Packed | { item: string } | { s3: string } | { frame: number }

/** Every update of the run item costs by its whole size, so only this much of a payload sits in it. */
const SMALL = 256
/** Shorter texts fit into a write unit anyway and are nicer to read. */
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

export function unpack(packed: Packed): Json {
  return JSON.parse(typeof packed === 'string' ? packed : inflateRawSync(packed).toString()) as Json
}

/** Payloads that are too large for where they belong. They are written before anything that points at them. */
export class Payloads {
  private readonly db: DynamoDBDocumentClient
  private readonly objects: Pick<Objects, 'put' | 'get'>
  private readonly table: string

  constructor(db: DynamoDBDocumentClient, objects: Pick<Objects, 'put' | 'get'>, table: string) {
    this.db = db
    this.objects = objects
    this.table = table
  }

  /** For the run item. The name is the content's hash: writing it twice is harmless. */
  async storeBeside(runId: string, value: unknown, ttl: number | undefined): Promise<Stored | undefined> {
    if (value === undefined) return undefined
    const packed = pack(value)
    if (isSmall(packed)) return packed
    if (sizeOf(packed) > FITS_AN_ITEM) return this.upload(folderOf(runId), packed)
    const item = hash(packed)
    await this.db.send(new PutCommand({ TableName: this.table, Item: { pk: partition(runId), sk: dataKey(item), data: packed, ttl } }))
    return { item }
  }

  /** For an item of its own, a frame or a message. */
  async storeInside(runId: string, value: unknown): Promise<Packed | { s3: string }> {
    const packed = pack(value)
    return sizeOf(packed) > FITS_AN_ITEM ? this.upload(folderOf(runId), packed) : packed
  }

  /** For a document, which may be older than any run. */
  async storeForGood(value: Json): Promise<Packed | { s3: string }> {
    const packed = pack(value)
    return sizeOf(packed) > FITS_AN_ITEM ? this.upload('documents', packed) : packed
  }

  async load(runId: string, stored: Exclude<Stored, { frame: number }>): Promise<Json> {
    if (typeof stored === 'string' || stored instanceof Uint8Array) return unpack(stored)
    if ('s3' in stored) return unpack(await this.objects.get(stored.s3))
    const { Item } = await this.db.send(
      new GetCommand({ TableName: this.table, Key: { pk: partition(runId), sk: dataKey(stored.item) }, ConsistentRead: true }),
    )
    if (!Item) throw new Error(`a payload of run '${runId}' is missing from the table: ${dataKey(stored.item)}`)
    return unpack(Item.data as Packed)
  }

  private async upload(folder: string, packed: Packed): Promise<{ s3: string }> {
    const key = `${folder}/${hash(packed)}`
    const deflated = typeof packed === 'string' ? deflateRawSync(packed) : packed
    await this.objects.put(key, deflated)
    return { s3: key }
  }
}

/** The bucket clears these away by their age, and nothing else. */
export const RUN_PAYLOADS = 'runs/'
const folderOf = (runId: string): string => `${RUN_PAYLOADS}${runId}`

const sizeOf = (packed: Packed): number => Buffer.byteLength(packed)
const hash = (packed: Packed): string => createHash('sha256').update(packed).digest('hex')
