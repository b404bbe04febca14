import { errorFrom } from './errors.ts'

export interface TransportOptions {
  /** Where the API is, with or without a path: `https://abc.execute-api.eu-west-1.amazonaws.com`. */
  url: string
  /** Sent as a bearer token. */
  token?: string
  /** Signs each request; see `sigv4`. */
  sign?: (request: Request) => Promise<Request>
  /** How often a request that may be repeated is tried again. Default 4. */
  retries?: number
  fetch?: typeof fetch
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  query?: Record<string, string | undefined>
  body?: unknown
  /** Makes a POST repeatable: the server recognises it. */
  idempotencyKey?: string
  /** Of the trace that the call is part of. */
  traceparent?: string
}

/** More than the longest time the API holds a request. */
const ATTEMPT_TIMEOUT_MS = 35_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
/** The server, or a gateway before it, is not able to answer now. */
const WORTH_REPEATING = new Set([429, 502, 503, 504])

export class Transport {
  private readonly options: TransportOptions
  private readonly base: string

  constructor(options: TransportOptions) {
    this.options = options
    this.base = options.url.replace(/\/+$/, '')
  }

  /** The answer's status and JSON; throws what a refusal stands for. */
  async send<T>(call: Call): Promise<{ status: number; body: T; attempts: number }> {
    const isRepeatable = call.method === 'GET' || call.method === 'PUT' || call.idempotencyKey !== undefined
    const retries = isRepeatable ? (this.options.retries ?? 4) : 0
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= retries
      // A request whose connection broke may have arrived all the same; that is what the key is for.
      const answer = await this.attempt(call).catch((error: unknown) => {
        if (isLast) throw error
        return undefined
      })
      if (answer?.response.ok)
        return {
          status: answer.response.status,
          body: (answer.text === '' ? undefined : JSON.parse(answer.text)) as T,
          attempts: attempt + 1,
        }
      if (answer && (isLast || !WORTH_REPEATING.has(answer.response.status)))
        throw errorFrom(answer.response.status, answer.text)
      await pause(attempt, answer ? retryAfterMs(answer.response) : 0)
    }
  }

  private async attempt({
    method,
    path,
    query,
    body,
    idempotencyKey,
    traceparent,
  }: Call): Promise<{ response: Response; text: string }> {
    const { token, sign, fetch: send = fetch } = this.options
    const headers = new Headers()
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey)
    if (traceparent !== undefined) headers.set('traceparent', traceparent)
    if (body !== undefined) headers.set('content-type', 'application/json')
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const url = `${this.base}${path}${queryText(query)}`
    const signal = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)
    const response = await (sign
      ? send(await sign(new Request(url, init)), { signal })
      : send(url, { ...init, signal }))
    return { response, text: await response.text() }
  }
}

function queryText(query: Call['query'] = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

/** Full jitter, so that callers who were refused together do not come back together. */
function pause(attempt: number, atLeastMs: number): Promise<void> {
  const ms = Math.max(atLeastMs, Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt))
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** `Retry-After` is seconds or a date. */
function retryAfterMs(response: Response): number {
  const value = response.headers.get('retry-after')
  if (value === null) return 0
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}
