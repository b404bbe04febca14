import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { sigv4 } from '../../http-client/sigv4.ts'
import { dnsSuffix } from './dns-suffix.ts'

export interface SignedRequest {
  /** Also what its host is named in front of the region. Stand-ins have one host for everything. */
  service: 'lambda' | 'xray' | 'cloudformation' | 'monitoring'
  path: string
  body: Uint8Array<ArrayBuffer> | string
  headers?: Record<string, string>
  /** The caller no longer needs the answer. */
  signal?: AbortSignal
  /** How often it may be made in all; 1 for what must not be repeated here. */
  attempts: number
}

const FIRST_PAUSE_MS = 50

/**
 * For the few requests to S3, Lambda and the secret stores, and inside Lambda to SQS and Scheduler:
 * their SDK clients would be a third of the runner's bundle, and so of its cold start. Region,
 * credentials and the signer come from where the SDK has them.
 */
export class SignedFetch {
  private readonly config: Pick<DynamoDBClient['config'], 'region' | 'credentials'>

  constructor({ config }: { config: Pick<DynamoDBClient['config'], 'region' | 'credentials'> }) {
    this.config = config
  }

  /** Posts the request. */
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

  private async attempt({ service, path, body, headers = {}, signal }: SignedRequest): Promise<Response> {
    const region = await this.config.region()
    const standIn = process.env[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] ?? process.env.AWS_ENDPOINT_URL
    const url = new URL(path, standIn ?? `https://${service}.${region}.${dnsSuffix(region)}`)
    const sign = sigv4({ service, region, credentials: () => this.config.credentials() })
    return fetch(await sign(new Request(url, { method: 'POST', body, headers, ...(signal && { signal }) })))
  }
}

/** Whether a retry may help. Services with JSON protocols report throttling as a 400. */
async function passes(response: Response): Promise<boolean> {
  if (response.status >= 500 || response.status === 429) return true
  return response.status === 400 && /Throttl|TooManyRequests/.test(await response.clone().text())
}
