import { inParallel } from '../../rules/procedure.ts'
import type { SignedFetch } from './signed-fetch.ts'

const ATTEMPTS = 6
/** Payloads of megabytes take their time. */
const TIMEOUT_MS = 30_000

/** Payloads too large for an item of the table. */
export interface ObjectStore {
  put(key: string, body: Uint8Array): Promise<void>
  get(key: string): Promise<Uint8Array>
  /** Removes all objects whose keys begin with the prefix, or those of them that the predicate selects. */
  removeAll(prefix: string, isMeant?: (key: string) => boolean): Promise<void>
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

  async removeAll(prefix: string, isMeant: (key: string) => boolean = () => true): Promise<void> {
    let after = ''
    do {
      const query = `?list-type=2&prefix=${encodeURIComponent(prefix)}${after && `&start-after=${encodeURIComponent(after)}`}`
      const list = await (await this.request('GET', '', undefined, query)).text()
      // Keys are made of run ids, times and hashes, in which XML has nothing to escape.
      const keys = [...list.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key!)
      await inParallel(keys.filter(isMeant), (key) => this.request('DELETE', key))
      after = /<IsTruncated>true</.test(list) ? keys.at(-1)! : ''
    } while (after !== '')
  }

  private async request(
    method: 'GET' | 'PUT' | 'DELETE',
    key: string,
    body?: Uint8Array,
    query = '',
  ): Promise<Response> {
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
    const text = (await response.text()).slice(0, 500)
    const error = new Error(
      `S3 answered ${method} of '${key}' in bucket '${this.bucket}' with ${response.status}: ${text}`,
    )
    throw Object.assign(error, { name: nameOf(response.status, text) })
  }
}

/**
 * The error name that callers compare. Other refusals have status 403 too, such as an expired
 * token, which can be retried.
 */
function nameOf(status: number, text: string): string {
  if (status === 503) return 'SlowDown'
  if (status === 404) return 'NoSuchKey'
  return status === 403 && text.includes('<Code>AccessDenied</Code>') ? 'AccessDenied' : 'S3Error'
}
