import type { TaskPayload } from '../../sdk/tasks/wire.ts'

export interface Answer<T = unknown> {
  status: number
  body: T
}

/** Sends requests of a worker to a server, valid or not, and reads the answers. */
export class Wire {
  private readonly url: string
  readonly token: string

  constructor(url: string, token: string) {
    this.url = url.replace(/\/+$/, '')
    this.token = token
  }

  poll(over: Record<string, unknown> = {}): Promise<Answer<TaskPayload[]>> {
    return this.send('/v1/tasks/poll', { task_types: ['conformance'], max_tasks: 1, timeout_ms: 5_000, ...over })
  }

  resolve(taskId: string, body: Record<string, unknown>, key?: string): Promise<Answer> {
    return this.send(
      `/v1/tasks/${encodeURIComponent(taskId)}/resolve`,
      body,
      key === undefined ? {} : { 'idempotency-key': key },
    )
  }

  /** The text of its events, as they come. */
  async *connect(body: Record<string, unknown>, signal: AbortSignal): AsyncGenerator<string> {
    const response = await this.post('/v1/workers/connect', body, {}, signal)
    if (response.status !== 200) throw new Error(`connect should be answered with 200, and was with ${response.status}`)
    const type = response.headers.get('content-type') ?? ''
    if (!type.startsWith('text/event-stream'))
      throw new Error(`connect should answer with text/event-stream, and did with '${type}'`)
    yield* response.body!.pipeThrough(new TextDecoderStream())
  }

  async send<T>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer<T>> {
    const response = await this.post(path, body, headers)
    const text = await response.text()
    return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as T }
  }

  private post(path: string, body: unknown, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url + path, {
      method: 'POST',
      headers: {
        ...(this.token !== '' && { authorization: `Bearer ${this.token}` }),
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
  }
}
