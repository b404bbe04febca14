import { expect, test, vi } from 'vitest'
import { OverwinterClient } from '../../sdk/http-client/index.ts'
import { sigv4 } from '../../sdk/http-client/sigv4.ts'

type Reply = Response | Error
interface Sent {
  method: string
  url: string
  key: string | null
  headers: Headers
  body: string
}

/** A client whose requests get these replies, one after the other. */
function clientWith(
  replies: Reply[],
  options: Partial<ConstructorParameters<typeof OverwinterClient>[0]> = {},
): { client: OverwinterClient; sent: Sent[] } {
  const sent: Sent[] = []
  const answer: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    sent.push({
      method: request.method,
      url: request.url,
      key: request.headers.get('idempotency-key'),
      headers: request.headers,
      body: await request.text(),
    })
    const reply = replies.shift() ?? new Error('no reply left')
    if (reply instanceof Error) throw reply
    return reply
  }
  return { client: new OverwinterClient({ url: 'https://api.example/base/', fetch: answer, ...options }), sent }
}

const page = () => Response.json({ runs: [] })
const busy = (status: number) => new Response('busy', { status, headers: { 'retry-after': '0' } })

test('reading is repeated when the service is busy or the connection breaks', async () => {
  const { client, sent } = clientWith([busy(503), busy(429), new TypeError('fetch failed'), page()])
  expect(await client.list()).toEqual({ runs: [] })
  expect(sent.map(({ method, url }) => `${method} ${url}`)).toEqual(Array(4).fill('GET https://api.example/base/runs'))
})

test('a POST is repeated under one and the same key, made up where none is given', async () => {
  const replies = () => [
    new TypeError('fetch failed'),
    busy(503),
    Response.json({ runId: 'r', status: 'pending' }, { status: 200 }),
  ]
  const own = clientWith(replies())
  expect(await own.client.start('w', 1)).toEqual({ runId: 'r', status: 'pending', created: true })
  expect(own.sent[0]!.key).toMatch(/^once-[0-9a-f-]{36}$/)
  expect(new Set(own.sent.map((request) => request.key)).size).toBe(1)
  expect(new Set(own.sent.map((request) => request.body))).toEqual(new Set(['{"input":1}']))
  const given = clientWith(replies())
  expect((await given.client.start('w', 1, { idempotencyKey: 'mine' })).created).toBe(false)
  expect(given.sent.map((request) => request.key)).toEqual(['mine', 'mine', 'mine'])
})

test('two calls never share a key', async () => {
  const { client, sent } = clientWith([Response.json({ accepted: true }), Response.json({ accepted: true })])
  await client.signal('r', 's')
  await client.signal('r', 's')
  expect(sent[0]!.key).not.toBe(sent[1]!.key)
})

test('it gives up after some attempts with what went wrong last', async () => {
  const { client, sent } = clientWith([busy(503), busy(503), busy(503)], { retries: 2 })
  await expect(client.list()).rejects.toMatchObject({
    name: 'HttpError',
    status: 503,
    message: 'the server answered 503: busy',
  })
  expect(sent).toHaveLength(3)
})

test('what will not get better is not repeated', async () => {
  const { client, sent } = clientWith([new Response('{"message":"Forbidden"}', { status: 403 })])
  await expect(client.list()).rejects.toMatchObject({ status: 403 })
  expect(sent).toHaveLength(1)
})

test('Retry-After is kept', async () => {
  const later = new Response('', { status: 429, headers: { 'retry-after': '1' } })
  const { client, sent } = clientWith([later, page()])
  vi.useFakeTimers()
  const listed = client.list()
  await vi.advanceTimersByTimeAsync(999)
  expect(sent).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  vi.useRealTimers()
  expect(await listed).toEqual({ runs: [] })
})

test('requests are signed with SigV4, each attempt anew, body included', async () => {
  const credentials = { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session' }
  const provider = vi.fn(async () => credentials)
  const sign = sigv4({ region: 'eu-west-1', credentials: provider })
  const { client, sent } = clientWith([busy(503), Response.json({ accepted: true })], { sign })
  await client.signal('r/1', 's', { by: 'ann' })
  expect(provider).toHaveBeenCalledTimes(2)
  for (const { headers, body, url } of sent) {
    expect(url).toBe('https://api.example/base/runs/r%2F1/signals/s')
    expect(headers.get('authorization')).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-west-1\/execute-api\/aws4_request, SignedHeaders=\S+, Signature=[0-9a-f]{64}$/,
    )
    expect(headers.get('x-amz-security-token')).toBe('session')
    expect(headers.get('idempotency-key')).toMatch(/./)
    expect(body).toBe('{"by":"ann"}')
  }
})
