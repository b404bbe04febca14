import { handle, type LambdaEvent } from 'hono/aws-lambda'
import { expect, test } from 'vitest'
import { authorityOf, behindGateway } from '../../functions/gateway.ts'
import { permissionFrom } from '../../functions/token-authority.ts'
import { Api, tokens } from './fixture.ts'

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
  const started = await lambda(
    event('POST', '/workflows/order/runs?wait=20s', Buffer.from(input).toString('base64'), true),
  )
  expect(started).toMatchObject({ statusCode: 201, isBase64Encoded: false, headers: { location: '/runs/r1' } })
  expect(JSON.parse(started.body)).toMatchObject({ status: 'completed', output: 2 })
  const missing = await lambda(event('GET', '/runs/nope'))
  // As text, or a reader of the raw event has to decode it first.
  expect(missing).toMatchObject({
    statusCode: 404,
    isBase64Encoded: false,
    headers: { 'content-type': 'application/problem+json' },
  })
  expect(
    (await lambda(event('POST', '/workflows/order/runs', JSON.stringify({ input: 'x'.repeat(1_000) })))).statusCode,
  ).toBe(413)
})

test('what the authorizer says of a token binds its bearer, and who comes without its word is not bound', async () => {
  await using api = await Api.open({ authorize: (_request, env) => permissionFrom(env, 'token') })
  const lambda = handle(api.app)
  const as = (context: object | undefined, path: string, method = 'GET') => {
    const asked = event(method, path) as unknown as { requestContext: object }
    return lambda({
      ...asked,
      requestContext: { ...asked.requestContext, ...(context && { authorizer: { lambda: context } }) },
    } as unknown as LambdaEvent)
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

test.each([undefined, 'iam', 'token', 'jwt'] as const)(
  'who came by the open route of callbacks gets no further than the token in the path (%s)',
  async (kind) => {
    await using api = await Api.open({ authorize: authorityOf(kind) })
    const lambda = behindGateway(api.app)
    const open = (method: string, rawPath: string, body?: string) =>
      lambda({
        ...(event(method, '/x', body) as unknown as object),
        rawPath,
        routeKey: `${method} /callbacks/{token}`,
      } as unknown as LambdaEvent)
    const token = JSON.stringify({ name: 'evil', scopes: ['start', 'read', 'operate'] })
    for (const spelt of [
      '/callbacks/..\\runs',
      '/callbacks/../runs',
      '/callbacks/.\t./runs',
      '/callbacks/%2E%2e/runs',
      '/runs',
    ])
      expect((await open('GET', spelt)).statusCode, spelt).toBeGreaterThanOrEqual(400)
    for (const spelt of ['/callbacks/..\\v1\\tokens', '/v1/tokens'])
      expect((await open('POST', spelt, token)).statusCode, spelt).toBeGreaterThanOrEqual(400)
    expect((await open('POST', '/callbacks/..\\workflows\\order\\runs', '{}')).statusCode).toBe(404)
    expect((await api.local.list()).runs).toEqual([])
    // A link that leads nowhere says so; it is not a matter of permission.
    expect((await open('GET', '/callbacks/nonsense')).statusCode).toBe(400)
    expect(
      (
        await open(
          'GET',
          `/callbacks/${Buffer.from(JSON.stringify(['a'.repeat(3_000), 0, 'c'])).toString('base64url')}.x`,
        )
      ).statusCode,
    ).toBe(400)
  },
)

test('a route that a caller may take leads to no other one', async () => {
  await using api = await Api.open()
  await api.local.start('sleeper', undefined, { id: 'victim' })
  const spelt = {
    ...(event('POST', '/x') as unknown as object),
    rawPath: '/workflows/x\\..\\..\\runs\\victim\\terminate#/runs',
    routeKey: 'POST /workflows/{name}/runs',
  }
  expect((await behindGateway(api.app)(spelt as unknown as LambdaEvent)).statusCode).toBe(404)
  expect((await api.local.get('victim')).status).not.toBe('terminated')
})

test('what no run can be called is not looked for', async () => {
  await using api = await Api.open()
  expect((await api.get(`/runs/${'x'.repeat(3_000)}`)).status).toBe(404)
})

test('where IAM decides by path, nothing below /runs/ hands out the tokens of callbacks, however it is spelt', async () => {
  await using api = await Api.open({ authorize: authorityOf('iam'), iamDecides: true })
  const { runId } = await api.local.start('asker')
  await api.reaches(runId, 'waiting')
  const lambda = behindGateway(api.app)
  const ask = (path: string, routeKey: string) =>
    lambda({ ...(event('GET', path) as unknown as object), routeKey } as unknown as LambdaEvent)
  const proper = await ask(`/callbacks?run=${runId}`, 'GET /callbacks')
  expect([proper.statusCode, JSON.parse(proper.body).callbacks[0].token]).toEqual([200, tokens.get(runId)])
  for (const path of [
    `/runs/${runId}/callbacks`,
    `/runs/${runId}/callback%73`,
    `/runs/${runId}/callbacks/`,
    `/runs//callbacks?run=${runId}`,
  ])
    for (const route of ['GET /runs/{id}/callbacks', 'GET /runs/{id}', 'ANY /{proxy+}']) {
      const { statusCode, body } = await ask(path, route)
      expect([path, statusCode]).toEqual([path, expect.toBeOneOf([403, 404])])
      expect(body).not.toContain(tokens.get(runId))
    }
  const { body } = await ask(`/runs/${runId}/callbacks`, 'ANY /{proxy+}')
  expect(JSON.parse(body).detail).toContain('GET /callbacks?run=<id>')
})
