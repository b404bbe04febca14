import type { ResolveBody, TaskPayload } from '../tasks/wire.ts'
import { type PollRequest, type Wire, WireRefusal } from './wire.ts'

const POLL_MS = 30_000
/** A server that has not answered by then will not answer. */
const ANSWER_WITHIN_MS = 15_000

export interface HttpWireOptions {
  url: string
  token: string
  workerId: string
  types: readonly string[]
  most: number
  metadata: Record<string, string>
  fetch?: typeof fetch
}

export class HttpWire implements Wire {
  private readonly options: HttpWireOptions
  private readonly fetch: typeof fetch

  constructor(options: HttpWireOptions) {
    this.options = options
    this.fetch = options.fetch ?? fetch
  }

  async poll({ id, type, most, inHand, signal }: PollRequest): Promise<TaskPayload[]> {
    const { workerId: worker_id } = this.options
    const body = { task_types: [type], max_tasks: most, timeout_ms: POLL_MS, worker_id, in_hand: inHand, poll_id: id }
    const response = await this.post('/v1/tasks/poll', body, { signal: within(POLL_MS + ANSWER_WITHIN_MS, signal) })
    return (await succeeded(response).json()) as TaskPayload[]
  }

  async resolve(taskId: string, body: ResolveBody, key: string): Promise<'done' | 'lost'> {
    const path = `/v1/tasks/${encodeURIComponent(taskId)}/resolve`
    const response = await this.post(path, body, {
      signal: within(ANSWER_WITHIN_MS),
      headers: { 'idempotency-key': key },
    })
    const text = await response.text()
    if (response.status === 404 || response.status === 409) return 'lost'
    succeeded(response, text)
    return 'done'
  }

  async connect(signal: AbortSignal): Promise<void> {
    const { workerId, types, most, metadata } = this.options
    const registration = {
      worker_id: workerId,
      task_types: types,
      max_tasks: most,
      language: 'typescript',
      transport: 'bridge',
      metadata,
    }
    const response = await this.post('/v1/workers/connect', registration, { signal })
    // The data is ignored; its arrival shows that the connection is alive.
    for await (const _ of succeeded(response).body!);
  }

  private post(
    path: string,
    body: unknown,
    { signal, headers }: { signal: AbortSignal; headers?: Record<string, string> },
  ): Promise<Response> {
    const { url, token } = this.options
    return this.fetch(`${url.replace(/\/+$/, '')}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal,
    })
  }
}

function succeeded(response: Response, text = ''): Response {
  if (response.ok) return response
  const { status } = response
  const advice =
    status === 401
      ? '. It does not know this token: make one with `overwinter tokens create <name> --types <types>`'
      : ''
  const message = `the server answered ${status}${text && `: ${text.slice(0, 500)}`}${advice}`
  const isRefusal = status >= 400 && status < 500 && status !== 408 && status !== 429
  throw isRefusal ? new WireRefusal(message) : new Error(message)
}

function within(ms: number, signal?: AbortSignal): AbortSignal {
  return signal ? AbortSignal.any([signal, AbortSignal.timeout(ms)]) : AbortSignal.timeout(ms)
}
