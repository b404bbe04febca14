import type { LambdaEvent } from 'hono/aws-lambda'
import { describe, expect, test } from 'vitest'
import { allowBrowsers } from '../../functions/browsers.ts'
import { authorityOf, behindGateway } from '../../functions/gateway.ts'
import { Api, tokens } from './fixture.ts'

interface Asked {
  /** The route that API Gateway took the request for. */
  resource: string
  method?: string
  body?: string | Buffer
  headers?: Record<string, string>
  query?: Record<string, string[]>
  /** Of a domain of one's own. */
  basePath?: string
  authorizer?: Record<string, string>
}

/**
 * An event of a REST API, payload format 1.0, with the fields that matter here. Every body is base64,
 * whatever it is.
 */
function event(
  path: string,
  { resource, method = 'GET', body, headers = {}, query, basePath, authorizer }: Asked,
): LambdaEvent {
  return {
    resource,
    path: `${basePath ?? ''}${path}`,
    httpMethod: method,
    headers,
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    queryStringParameters: null,
    multiValueQueryStringParameters: query ?? null,
    requestContext: {
      domainName: 'abc.execute-api.eu-west-1.amazonaws.com',
      stage: 'api',
      path: `${basePath ?? '/api'}${path}`,
      authorizer,
    },
    body: body === undefined ? null : Buffer.from(body).toString('base64'),
    isBase64Encoded: body !== undefined,
  } as unknown as LambdaEvent
}

const START = { resource: '/workflows/{name}/runs', method: 'POST', headers: { 'Content-Type': 'application/json' } }
const locationOf = ({ multiValueHeaders }: { multiValueHeaders?: Record<string, string[]> }) =>
  multiValueHeaders?.location

describe('behind a REST API', () => {
  test('the same app answers, and what it points to begins with the stage', async () => {
    await using api = await Api.open()
    const lambda = behindGateway(api.app)
    const body = JSON.stringify({ input: { id: 'ö', cents: 1 }, id: 'r1' })
    const started = await lambda(event('/workflows/order/runs', { ...START, body, query: { wait: ['20s'] } }))
    expect(started.statusCode).toBe(201)
    expect(JSON.parse(started.body)).toMatchObject({ status: 'completed', output: 2 })
    expect(locationOf(started)).toEqual(['/api/runs/r1'])
    const missing = await lambda(event('/runs/nope', { resource: '/runs/{id}' }))
    expect(missing).toMatchObject({
      statusCode: 404,
      isBase64Encoded: false,
      multiValueHeaders: { 'content-type': ['application/problem+json'] },
    })
  })

  test("a domain of one's own may have a base path", async () => {
    await using api = await Api.open()
    const body = JSON.stringify({ input: { id: 'o', cents: 1 }, id: 'r1' })
    const started = await behindGateway(api.app)(
      event('/workflows/order/runs', { ...START, body, basePath: '/shop/v2' }),
    )
    expect([started.statusCode, locationOf(started)]).toEqual([201, ['/shop/v2/runs/r1']])
  })

  test('names keep what is escaped in them', async () => {
    await using api = await Api.open()
    const started = await behindGateway(api.app)(
      event(`/workflows/${encodeURIComponent('a/b %é?')}/runs`, { ...START, body: '{"id":"r1"}' }),
    )
    expect(started.statusCode).toBe(201)
    expect((await api.local.get('r1')).workflow).toBe('a/b %é?')
  })

  test('what the app does not have is answered by the app', async () => {
    await using api = await Api.open()
    const lambda = behindGateway(api.app)
    expect((await lambda(event('/nowhere/at/all', { resource: '/{proxy+}' }))).statusCode).toBe(404)
    expect((await lambda(event('/runs', { resource: '/{proxy+}', method: 'PATCH' }))).statusCode).toBe(405)
  })

  test('what the authorizer says of a token binds its bearer', async () => {
    await using api = await Api.open({ authorize: authorityOf('token') })
    const lambda = behindGateway(api.app)
    const as = async (authorizer: Record<string, string>, asked: Asked, path: string) =>
      (await lambda(event(path, { ...asked, authorizer }))).statusCode
    const reader = { principalId: 'bearer', scopes: 'read', workflows: '["order"]' }
    const list = { resource: '/runs' }
    expect(await as(reader, { ...list, query: { workflow: ['order'] } }, '/runs')).toBe(200)
    expect(await as(reader, list, '/runs')).toBe(403)
    expect(await as(reader, { ...START, body: '{}' }, '/workflows/order/runs')).toBe(403)
    expect(await as({ principalId: 'bearer' }, list, '/runs')).toBe(200)
  })
})

const OPEN = '/callbacks/{token}'

describe.each([undefined, 'token'] as const)('who came by the open route of callbacks of a REST API (%s)', (kind) => {
  test.each([
    '/runs',
    '/v1/tokens',
    '/callbacks/..\\runs',
    '/callbacks/../runs',
    '/callbacks/%2E%2e/runs',
    '/callbacks/..%2Fruns',
    '/callbacks/..%5Cruns',
    '/callbacks/x/../../runs',
    '/callbacks//runs',
    '/callbacks/',
    '/callbacks/x/runs',
  ])('gets nowhere else: %s', async (path) => {
    await using api = await Api.open({ authorize: authorityOf(kind) })
    const lambda = behindGateway(api.app)
    for (const method of ['GET', 'POST']) {
      const { statusCode, body } = await lambda(
        event(path, {
          resource: OPEN,
          method,
          body: method === 'POST' ? '{"name":"evil","scopes":["read"]}' : undefined,
        }),
      )
      expect(statusCode, body).toBeGreaterThanOrEqual(400)
    }
    expect((await api.local.list()).runs).toEqual([])
  })

  test('has been let in by no authorizer, however the path is read later', () => {
    const may = (resource: string) =>
      authorityOf(kind)(new Request('https://api'), { event: { resource, requestContext: { authorizer: {} } } })
    for (const resource of [OPEN, '/callbacks/{token}/heartbeat']) expect(may(resource)).toBe(false)
    for (const resource of ['/runs', '/{proxy+}']) expect(may(resource)).toBe(true)
  })

  test('gets as far as the token in the path', async () => {
    await using api = await Api.open({ authorize: authorityOf(kind) })
    await api.local.start('asker', undefined, { id: 'r1' })
    await api.reaches('r1', 'waiting')
    const asked = {
      resource: OPEN,
      method: 'POST',
      body: '{"result":"yes"}',
      headers: { 'Content-Type': 'application/json' },
    }
    expect((await behindGateway(api.app)(event(`/callbacks/${tokens.get('r1')}`, asked))).statusCode).toBe(202)
    expect(await api.local.result('r1')).toBe('yes')
  })
})

test.each([
  ['/runs/v1/tokens', '/runs/{id}'],
  ['/v1/tokens', '/runs/{id}'],
  ['/workflows/x/../../runs/victim/terminate', '/workflows/{name}/runs'],
  ['/runs/victim/terminate', '/runs/{id}/wake'],
])('a path that is not of the route which API Gateway took it for leads nowhere: %s by %s', async (path, resource) => {
  await using api = await Api.open()
  await api.local.start('sleeper', undefined, { id: 'victim' })
  for (const method of ['GET', 'POST'])
    expect((await behindGateway(api.app)(event(path, { resource, method }))).statusCode).toBe(404)
  expect((await api.local.get('victim')).status).not.toBe('terminated')
})

describe('browsers on pages of other origins', () => {
  const cors = JSON.stringify({
    allowOrigins: ['https://shop.example', 'https://office.example'],
    allowMethods: ['*'],
    allowHeaders: ['authorization'],
    maxAge: 600,
  })
  const asked = async (origin: string, method: string, headers: Record<string, string> = {}) => {
    await using api = await Api.open({ authorize: authorityOf('token'), browsers: allowBrowsers(cors) })
    const resource = method === 'OPTIONS' ? '/{proxy+}' : '/runs'
    const { statusCode, multiValueHeaders } = await behindGateway(api.app)(
      event('/runs', { resource, method, headers: { Origin: origin, ...headers } }),
    )
    return { statusCode, allowed: multiValueHeaders!['access-control-allow-origin'], headers: multiValueHeaders! }
  }

  test('are told beforehand whether they may, and with each answer', async () => {
    const preflight = await asked('https://office.example', 'OPTIONS', { 'Access-Control-Request-Method': 'GET' })
    expect(preflight).toMatchObject({ statusCode: 204, allowed: ['https://office.example'] })
    expect(preflight.headers).toMatchObject({
      'access-control-allow-methods': ['*'],
      'access-control-allow-headers': ['authorization'],
      'access-control-max-age': ['600'],
    })
    expect(await asked('https://shop.example', 'GET')).toMatchObject({
      statusCode: 200,
      allowed: ['https://shop.example'],
    })
  })

  test('are told nothing on pages of others', async () => {
    expect(
      (await asked('https://evil.example', 'OPTIONS', { 'Access-Control-Request-Method': 'GET' })).allowed,
    ).toBeUndefined()
    expect((await asked('https://evil.example', 'GET')).allowed).toBeUndefined()
  })

  test('may send no header that was not named, also where none was', async () => {
    await using api = await Api.open({ browsers: allowBrowsers(JSON.stringify({ allowOrigins: ['*'] })) })
    const headers = {
      Origin: 'https://any.example',
      'Access-Control-Request-Method': 'GET',
      'Access-Control-Request-Headers': 'authorization',
    }
    const { multiValueHeaders } = await behindGateway(api.app)(
      event('/runs', { resource: '/{proxy+}', method: 'OPTIONS', headers }),
    )
    expect(multiValueHeaders).toMatchObject({
      'access-control-allow-origin': ['*'],
      'access-control-allow-headers': ['content-type'],
    })
  })
})
