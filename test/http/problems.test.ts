import { expect, test } from 'vitest'
import { bearer } from '../../functions/http/bearer.ts'
import { Api, read } from './fixture.ts'

const type = (kind: string) => `urn:overwinter:problem:${kind}`

async function raw(api: Api, body: string | ReadableStream, headers: Record<string, string> = {}) {
  return read(
    await api.app.request('/workflows/sleeper/runs', { method: 'POST', headers, body, duplex: 'half' } as RequestInit),
  )
}

test('malformed JSON is 400, whatever its content type', async () => {
  await using api = await Api.open()
  for (const headers of [
    undefined,
    { 'content-type': 'application/json' },
    { 'content-type': 'application/x-www-form-urlencoded' },
  ]) {
    const { status, headers: answered, body } = await raw(api, '{"input":', headers)
    expect([status, body.type]).toEqual([400, type('malformed-json')])
    expect(answered.get('content-type')).toBe('application/problem+json')
  }
})

test('a body of another kind is 415', async () => {
  await using api = await Api.open()
  const { status, body } = await raw(api, '<input/>', { 'content-type': 'application/xml' })
  expect([status, body.type]).toEqual([415, type('unsupported-media-type')])
})

test('a body over the limit is 413 and writes nothing, with and without a declared length', async () => {
  await using api = await Api.open({ bodyLimit: 1_000 })
  const big = JSON.stringify({ input: 'x'.repeat(1_000) })
  const declared = await raw(api, big, { 'content-length': String(big.length) })
  const streamed = await raw(api, new Blob([big]).stream())
  for (const { status, body } of [declared, streamed]) expect([status, body.type]).toEqual([413, type('too-large')])
  expect((await api.local.list()).runs).toEqual([])
  expect((await raw(api, new Blob([JSON.stringify({ input: 'é'.repeat(100) })]).stream())).status).toBe(201)
})

test('a body nested deeper than any code could walk is 400', async () => {
  await using api = await Api.open()
  const { status, body } = await raw(api, `{"input":${'['.repeat(200_000)}${']'.repeat(200_000)}}`)
  expect([status, body.type]).toEqual([400, type('invalid-input')])
  const brackets = JSON.stringify({ input: '[{"'.repeat(2_000) })
  expect((await raw(api, brackets)).status).toBe(201)
})

test('a wrong method is 405 and says which are allowed', async () => {
  await using api = await Api.open()
  const answer = async (method: string, path: string) => {
    const { status, headers, body } = await read(await api.app.request(path, { method }))
    return [status, headers.get('allow'), body.type]
  }
  expect(await answer('PUT', '/runs/x')).toEqual([405, 'GET, HEAD, DELETE', type('method-not-allowed')])
  expect(await answer('GET', '/runs/x/cancel')).toEqual([405, 'POST', type('method-not-allowed')])
  expect(await answer('PUT', '/workflows/order/runs')).toEqual([405, 'POST', type('method-not-allowed')])
})

test('an unknown route is 404', async () => {
  await using api = await Api.open()
  for (const path of ['/', '/nope', '/runs/x/y/z/1']) {
    const { status, body } = await api.get(path)
    expect([status, body.type]).toEqual([404, type('unknown-route')])
  }
})

test('with a bearer token only those who have it come in, except to the health check', async () => {
  await using api = await Api.open({ authorize: bearer('s3cret') })
  const { status, headers, body } = await api.get('/runs')
  expect([status, headers.get('www-authenticate'), body.type]).toEqual([401, 'Bearer', type('unauthorized')])
  for (const wrong of ['Bearer', 'Bearer s3cre', 'Bearer s3cret2', 'Basic s3cret', 's3cret']) {
    expect((await api.get('/runs', { authorization: wrong })).status).toBe(401)
  }
  expect((await api.get('/runs', { authorization: 'Bearer s3cret' })).status).toBe(200)
  expect((await api.get('/healthz')).body).toEqual({ status: 'ok' })
  expect((await api.post('/workflows/sleeper/runs')).status).toBe(401)
  expect((await api.local.list()).runs).toEqual([])
})

test('an empty bearer token is refused at once', () => {
  expect(() => bearer('')).toThrow('empty')
})

test.each([
  [Object.assign(new Error('x'), { name: 'ThrottlingException' }), 429, 'throttled', '1'],
  [Object.assign(new Error('x'), { name: 'ProvisionedThroughputExceededException' }), 429, 'throttled', '1'],
  [Object.assign(new Error('x'), { $retryable: { throttling: true }, retryAfter: 3.2 }), 429, 'throttled', '4'],
  [Object.assign(new Error('x'), { retryAfter: 7 }), 503, 'unavailable', '7'],
  [Object.assign(new Error('database is locked'), { errcode: 5 }), 503, 'unavailable', '1'],
])('a store that is at its limit is %s: %i', async (error, status, kind, retryAfter) => {
  await using api = await Api.open()
  api.local.get = () => Promise.reject(error)
  const answer = await api.get('/runs/x')
  expect([answer.status, answer.body.type, answer.headers.get('retry-after')]).toEqual([status, type(kind), retryAfter])
})

test('an unexpected error is 500, logged, and tells the caller nothing of it', async () => {
  const logged: unknown[][] = []
  await using api = await Api.open({ log: (...line) => void logged.push(line) })
  api.local.get = () => Promise.reject(new TypeError('the password is hunter2'))
  const { status, body } = await api.get('/runs/x')
  expect([status, body.type]).toEqual([500, type('internal')])
  expect(JSON.stringify(body)).not.toContain('hunter2')
  expect(logged).toHaveLength(1)
  const [level, message, fields] = logged[0] as [string, string, { errorId: string; stack: string }]
  expect([level, message]).toEqual(['error', 'GET /runs/x failed: TypeError: the password is hunter2'])
  expect(body.detail).toContain(fields.errorId)
  expect(fields.stack).toContain('problems.test.ts')
})
