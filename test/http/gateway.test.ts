import { handle, type LambdaEvent } from 'hono/aws-lambda'
import { expect, test } from 'vitest'
import { permissionFrom } from '../../functions/token-authority.ts'
import { Api } from './fixture.ts'

/** An event of an HTTP API, payload format 2.0, with the fields that matter here. */
function event(method: string, path: string, body?: string, isBase64Encoded = false): LambdaEvent {
  const [rawPath, rawQueryString = ''] = path.split('?')
  const http = { method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'test' }
  const requestContext = { http, domainName: 'abc.execute-api.eu-west-1.amazonaws.com', stage: '$default' }
  return {
    version: '2.0',
    rawPath,
    rawQueryString,
    headers: { 'content-type': 'application/json' },
    requestContext,
    body,
    isBase64Encoded,
  } as unknown as LambdaEvent
}

test('the same app answers the events of API Gateway', async () => {
  await using api = await Api.open({ bodyLimit: 1_000 })
  const lambda = handle(api.app)
  const input = JSON.stringify({ input: { id: 'o', cents: 1 }, id: 'r1' })
  const started = await lambda(event('POST', '/workflows/order/runs?wait=20s', Buffer.from(input).toString('base64'), true))
  expect(started).toMatchObject({ statusCode: 201, isBase64Encoded: false, headers: { location: '/runs/r1' } })
  expect(JSON.parse(started.body)).toMatchObject({ status: 'completed', output: 2 })
  const missing = await lambda(event('GET', '/runs/nope'))
  // As text, or whoever reads the raw event has to decode it first.
  expect(missing).toMatchObject({ statusCode: 404, isBase64Encoded: false, headers: { 'content-type': 'application/problem+json' } })
  expect((await lambda(event('POST', '/workflows/order/runs', JSON.stringify({ input: 'x'.repeat(1_000) })))).statusCode).toBe(413)
})

test('what the authorizer says of a token binds its bearer, and who comes without its word is not bound', async () => {
  await using api = await Api.open({ authorize: (_request, env) => permissionFrom(env, 'token') })
  const lambda = handle(api.app)
  const as = (context: object | undefined, path: string, method = 'GET') => {
    const asked = event(method, path) as unknown as { requestContext: object }
    return lambda({ ...asked, requestContext: { ...asked.requestContext, ...(context && { authorizer: { lambda: context } }) } } as unknown as LambdaEvent)
  }
  const reader = { scopes: 'read', workflows: '["order"]' }
  expect((await as(reader, '/runs?workflow=order')).statusCode).toBe(200)
  expect((await as(reader, '/runs')).statusCode).toBe(403)
  expect((await as(reader, '/workflows/order/runs', 'POST')).statusCode).toBe(403)
  expect((await as(undefined, '/runs')).statusCode).toBe(200)
  // Behind the authorizer, callbacks are for those who may settle them.
  expect((await as({ scopes: 'start' }, '/callbacks/x', 'POST')).statusCode).toBe(403)
  expect((await as({ scopes: 'settle' }, '/callbacks/x', 'POST')).statusCode).toBe(400)
})
