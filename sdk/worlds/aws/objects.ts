import type { S3Client } from '@aws-sdk/client-s3'
import { inParallel } from '../../rules/procedure.ts'
import { once } from './clients.ts'

/** Payloads of megabytes take their time. */
const PATIENT = {
  maxAttempts: 6,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 30_000, throwOnRequestTimeout: true },
}

/** Payloads too large for an item of the table. */
export interface ObjectStore {
  put(key: string, body: Uint8Array): Promise<void>
  get(key: string): Promise<Uint8Array>
  /** Removes all objects whose keys begin with the prefix, or those of them that the predicate selects. */
  removeAll(prefix: string, isMeant?: (key: string) => boolean): Promise<void>
}

type Sdk = typeof import('./sdk/s3.ts') & { s3: S3Client }

/** The objects of one S3 bucket. Its client is loaded when the first large payload needs it, in either direction. */
export class Objects implements ObjectStore {
  private readonly bucket: string
  private readonly load = once(async (): Promise<Sdk> => {
    const sdk = await import('./sdk/s3.ts')
    return { ...sdk, s3: new sdk.S3Client({ ...PATIENT, forcePathStyle: isStandIn() }) }
  })

  constructor(bucket: string) {
    this.bucket = bucket
  }

  async put(Key: string, Body: Uint8Array): Promise<void> {
    const ContentType = 'application/octet-stream'
    await this.ask('PUT', Key, ({ s3, PutObjectCommand }) =>
      s3.send(new PutObjectCommand({ Bucket: this.bucket, Key, Body, ContentType })),
    )
  }

  async get(Key: string): Promise<Uint8Array> {
    return this.ask('GET', Key, async ({ s3, GetObjectCommand }) => {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: this.bucket, Key }))
      return Body!.transformToByteArray()
    })
  }

  async removeAll(Prefix: string, isMeant: (key: string) => boolean = () => true): Promise<void> {
    let ContinuationToken: string | undefined
    do {
      const page = await this.ask('LIST', Prefix, ({ s3, ListObjectsV2Command }) =>
        s3.send(new ListObjectsV2Command({ Bucket: this.bucket, Prefix, ContinuationToken })),
      )
      const keys = (page.Contents ?? []).map(({ Key }) => Key!)
      await inParallel(keys.filter(isMeant), (key) => this.remove(key))
      ContinuationToken = page.NextContinuationToken
    } while (ContinuationToken !== undefined)
  }

  private async remove(Key: string): Promise<void> {
    await this.ask('DELETE', Key, ({ s3, DeleteObjectCommand }) =>
      s3.send(new DeleteObjectCommand({ Bucket: this.bucket, Key })),
    )
  }

  private async ask<T>(method: string, key: string, call: (sdk: Sdk) => Promise<T>): Promise<T> {
    try {
      return await call(await this.load())
    } catch (error) {
      const { name, message, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } }
      const status = $metadata?.httpStatusCode
      const said = `${name}: ${message}`
      throw Object.assign(
        new Error(`S3 answered ${method} of '${key}' in bucket '${this.bucket}' with ${status ?? 'nothing'}: ${said}`, {
          cause: error,
        }),
        { name: nameOf(status, name) },
      )
    }
  }
}

/** What callers tell errors apart by. Other refusals have 403 too: an expired token, say, which passes. */
function nameOf(status: number | undefined, name: string): string {
  if (status === 503) return 'SlowDown'
  if (status === 404) return 'NoSuchKey'
  return name === 'AccessDenied' ? name : 'S3Error'
}

/** Stand-ins have one host for everything, and the bucket in the path. */
function isStandIn(): boolean {
  return (process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL) !== undefined
}
