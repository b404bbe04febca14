import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

/** What Lambda gives a function whose answer is streamed: the head of the answer comes as metadata, the rest through the stream. */
interface Answer {
  statusCode: number
  headers: Record<string, string>
}
type Streaming = (event: unknown, stream: PassThrough, context: unknown) => Promise<void>

describe('the function for workers, where Lambda streams', () => {
  let handler: Streaming
  const answers = new Map<unknown, Answer>()
  beforeAll(async () => {
    vi.stubGlobal('awslambda', {
      streamifyResponse: (streaming: Streaming) => streaming,
      HttpResponseStream: {
        from: (stream: PassThrough, metadata: Answer) => {
          answers.set(stream, metadata)
          return stream
        },
      },
    })
    for (const name of ['TABLE', 'BUCKET', 'QUEUE_URL', 'QUEUE_ARN', 'SCHEDULER_GROUP', 'SCHEDULER_ROLE_ARN'])
      vi.stubEnv(`OVERWINTER_${name}`, 'x')
    vi.stubEnv('AWS_REGION', 'eu-north-1')
    ;({ handler } = (await import('../../functions/workers.ts')) as unknown as { handler: Streaming })
  })
  afterAll(() => {
    vi.unstubAllGlobals()
    vi.unstubAllEnvs()
  })

  async function call(path: string, headers: Record<string, string> = {}) {
    const stream = new PassThrough()
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    const requestContext = {
      http: { method: 'POST', path, sourceIp: '127.0.0.1' },
      domainName: 'url.example',
      requestId: 'r',
    }
    const event = {
      version: '2.0',
      rawPath: path,
      rawQueryString: '',
      headers: { host: 'url.example', ...headers },
      requestContext,
      isBase64Encoded: false,
      body: '{}',
    }
    await handler(event, stream, { getRemainingTimeInMillis: () => 60_000 })
    return { ...answers.get(stream)!, body: Buffer.concat(chunks).toString() }
  }

  it('answers through the stream, refusals included', async () => {
    const { statusCode, headers, body } = await call('/v1/tasks/poll', { 'content-type': 'application/json' })
    expect(statusCode).toBe(401)
    expect(headers['content-type']).toBe('application/problem+json')
    expect(JSON.parse(body)).toMatchObject({ status: 401, title: 'Not authorized' })
  })

  it('has nothing but what is for workers', async () => {
    expect((await call('/runs')).statusCode).toBe(404)
  })
})
