import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export interface Signed {
  accessKeyId: string
  region: string
  service: string
  /** Whether the signature is the one that this secret makes for this request. */
  isMadeWith(secretAccessKey: string): boolean
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/

/** Works a signature out anew from what arrived, as AWS does (Signature Version 4). Every service but S3 escapes the path once more. */
export function signatureOf(request: IncomingMessage, body: string): Signed | undefined {
  const [, accessKeyId, day, region, service, names, signature] =
    AUTHORIZATION.exec(request.headers.authorization ?? '') ?? []
  if (signature === undefined) return undefined
  const url = new URL(request.url!, `http://${request.headers.host}`)
  url.searchParams.sort()
  const headers = names!.split(';').map((name) => `${name}:${String(request.headers[name] ?? '').trim()}\n`)
  const path = service === 's3' ? url.pathname : url.pathname.split('/').map(encodeURIComponent).join('/')
  const canonical = [
    request.method,
    path,
    url.searchParams.toString().replaceAll('+', '%20'),
    headers.join(''),
    names,
    sha256(body),
  ].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const isMadeWith = (secret: string) => {
    const key = [day!, region!, service!, 'aws4_request'].reduce<string | Buffer>(
      (made, part) => hmac(made, part),
      `AWS4${secret}`,
    )
    return hmac(key, toSign).toString('hex') === signature
  }
  return { accessKeyId: accessKeyId!, region: region!, service: service!, isMadeWith }
}
