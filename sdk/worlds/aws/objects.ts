import { inParallel } from '../../rules/procedure.ts'
import type { SignedFetch } from './signed-fetch.ts'

const ATTEMPTS = 6
/** Payloads of megabytes take their time. */
const TIMEOUT_MS = 30_000

/** Payloads too large for an item of the table. */
export interface ObjectStore {
  put(key: string, body: Uint8Array): Promise<void>
  get(key: string): Promise<Uint8Array>
  /** All whose keys begin so; `directly`: and have no further slash. */
  removeAll(prefix: string, depth?: 'directly'): Promise<void>
}

/** The objects of one S3 bucket. */
export class Objects implements ObjectStore {
  private readonly aws: SignedFetch
  private readonly bucket: string

  constructor(aws: SignedFetch, bucket: string) {
    this.aws = aws
    this.bucket = bucket
  }

  async put(key: string, body: Uint8Array): Promise<void> {
    await this.request('PUT', key, body)
  }

  async get(key: string): Promise<Uint8Array> {
    return new Uint8Array(await (await this.request('GET', key)).arrayBuffer())
  }

  async removeAll(prefix: string, depth?: 'directly'): Promise<void> {
    const query = `?list-type=2&prefix=${encodeURIComponent(prefix)}${depth ? '&delimiter=%2F' : ''}`
    for (;;) {
      const list = await (await this.request('GET', '', undefined, query)).text()
      // Keys are made of run ids and hashes, in which XML has nothing to escape.
      const keys = [...list.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key!)
      if (keys.length === 0) return
      await inParallel(keys, (key) => this.request('DELETE', key))
    }
  }

  private async request(method: 'GET' | 'PUT' | 'DELETE', key: string, body?: Uint8Array, query = ''): Promise<Response> {
    const path = `${key.split('/').map(encodeURIComponent).join('/')}${query}`
    const response = await this.aws.send({
      service: 's3',
      host: `${this.bucket}.s3`,
      path: { aws: `/${path}`, standIn: `/${this.bucket}/${path}` },
      method,
      ...(body && { body, headers: { 'content-type': 'application/octet-stream' } }),
      timeoutMs: TIMEOUT_MS,
      attempts: ATTEMPTS,
    })
    if (response.ok) return response
    const error = new Error(`S3 answered ${method} of '${key}' in bucket '${this.bucket}' with ${response.status}: ${(await response.text()).slice(0, 500)}`)
    throw Object.assign(error, { name: response.status === 503 ? 'SlowDown' : 'S3Error' })
  }
}
