import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { SignatureV4 } from '@smithy/signature-v4'
import { dnsSuffix } from './dns-suffix.ts'

export interface SignedRequest {
  service: 's3' | 'lambda' | 'secretsmanager' | 'ssm' | 'sqs' | 'scheduler' | 'xray'
  /** In front of the region in AWS's host names: `bucket.s3`. Stand-ins have one host for everything. */
  host: string
  /** On AWS and on a stand-in, where the bucket goes into the path. */
  path: { aws: string; standIn: string }
  method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  body?: Uint8Array | string
  headers?: Record<string, string>
  /** The caller no longer needs the answer. */
  signal?: AbortSignal
  /** How long each attempt may take. */
  timeoutMs?: number
  /** How many attempts in all; 1 for a request that must not be repeated here. */
  attempts: number
}

const FIRST_PAUSE_MS = 50

/**
 * For the few requests to S3, Lambda and the secret stores, and inside Lambda to SQS and Scheduler:
 * their SDK clients would be a third of the runner's bundle, and so of its cold start. Region,
 * credentials and the signer come from where the SDK has them.
 */
export class SignedFetch {
  private readonly config: DynamoDBClient['config']

  constructor({ config }: Pick<DynamoDBClient, 'config'>) {
    this.config = config
  }

  async send(request: SignedRequest): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await this.attempt(request)
        if (attempt >= request.attempts || !(await passes(response))) return response
      } catch (error) {
        if (attempt >= request.attempts || request.signal?.aborted) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * FIRST_PAUSE_MS * 2 ** attempt))
    }
  }

  private async attempt({
    service,
    host,
    path,
    method,
    body,
    headers,
    signal,
    timeoutMs,
  }: SignedRequest): Promise<Response> {
    const [region, credentials] = await Promise.all([this.config.region(), this.config.credentials()])
    // S3 alone takes paths as they are.
    const signer = new SignatureV4({
      service,
      region,
      credentials,
      sha256: this.config.sha256,
      uriEscapePath: service !== 's3',
    })
    const standIn = process.env[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] ?? process.env.AWS_ENDPOINT_URL
    const url = standIn
      ? new URL(path.standIn, standIn)
      : new URL(path.aws, `https://${host}.${region}.${dnsSuffix(region)}`)
    const limits = [signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)].filter(
      (limit) => limit !== undefined,
    )
    const { protocol, hostname, pathname, searchParams } = url
    const signed = await signer.sign({
      method,
      protocol,
      hostname,
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: { ...headers, host: url.host },
      body,
    })
    return fetch(url, {
      method,
      body,
      headers: signed.headers,
      ...(limits.length > 0 && { signal: AbortSignal.any(limits) }),
    })
  }
}

/** Whether a retry may help. Services with JSON protocols report throttling as a 400. */
async function passes(response: Response): Promise<boolean> {
  if (response.status >= 500 || response.status === 429) return true
  return response.status === 400 && /Throttl|TooManyRequests/.test(await response.clone().text())
}
