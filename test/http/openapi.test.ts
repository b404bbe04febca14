import { expect, test } from 'vitest'
import { ROUTES } from '../../functions/http/app.ts'
import { bearer } from '../../functions/http/bearer.ts'
import { PROBLEMS } from '../../functions/http/problem.ts'
import { Api } from './fixture.ts'

/** What the issue asks for, written down a second time so that a route cannot silently vanish. */
const PROMISED = [
  'POST /workflows/{name}/runs',
  'GET /workflows',
  'GET /workflows/{name}',
  'GET /incidents',
  'GET /counts',
  'POST /incidents/{fingerprint}/retry',
  'POST /incidents/{fingerprint}/rerun',
  'POST /incidents/{fingerprint}/cancel',
  'POST /incidents/{fingerprint}/terminate',
  'POST /bulk/retry',
  'POST /bulk/rerun',
  'POST /bulk/cancel',
  'POST /bulk/terminate',
  'GET /runs',
  'GET /runs/{id}',
  'GET /runs/{id}/callbacks',
  'GET /runs/{id}/history',
  'GET /runs/{id}/events/{n}',
  'GET /runs/{id}/replay',
  'GET /changes',
  'GET /metrics',
  'GET /runs/{id}/steps',
  'GET /runs/{id}/why',
  'POST /runs/{id}/signals/{name}',
  'POST /runs/{id}/requests/{name}',
  'POST /runs/{id}/cancel',
  'POST /runs/{id}/terminate',
  'POST /runs/{id}/retry',
  'POST /runs/{id}/rerun',
  'POST /runs/{id}/wake',
  'GET /callbacks',
  'GET /callbacks/{token}',
  'POST /callbacks/{token}',
  'POST /callbacks/{token}/heartbeat',
  'GET /schedules',
  'POST /schedules/{name}/pause',
  'POST /schedules/{name}/resume',
  'POST /schedules/{name}/trigger',
  'GET /limits',
  'GET /limits/{name}',
  'PUT /limits/{name}',
  'POST /limits/{name}/pause',
  'POST /limits/{name}/resume',
  'POST /limits/{name}/reset',
  'GET /pauses',
  'POST /pauses',
  'POST /pauses/resume',
  'GET /definitions',
  'GET /definitions/schema.json',
  'GET /definitions/{name}',
  'PUT /definitions/{name}',
  'DELETE /definitions/{name}',
  'DELETE /runs',
  'DELETE /runs/{id}',
  'GET /v1/workers',
  'POST /v1/tokens',
  'GET /v1/tokens',
  'DELETE /v1/tokens/{id}',
  'POST /v1/workers/connect',
  'POST /v1/tasks/poll',
  'POST /v1/tasks/{id}/resolve',
  'POST /events',
  'GET /healthz',
  'GET /openapi.json',
]

test('the document names every route that is mounted, and every promised one is', async () => {
  await using api = await Api.open()
  const { body } = await api.get('/openapi.json')
  expect(body.openapi).toBe('3.1.0')
  const documented = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const mounted = api.app.routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`)
  expect(documented.sort()).toEqual(mounted.sort())
  expect(documented).toEqual([...PROMISED].sort())
})

test('every path parameter is declared, every reference resolves, and every POST that can be repeated takes an idempotency key', async () => {
  await using api = await Api.open()
  const { body } = await api.get('/openapi.json')
  for (const [, name] of JSON.stringify(body).matchAll(/"#\/components\/schemas\/(\w+)"/g))
    expect(body.components.schemas).toHaveProperty(name!)
  for (const { method, path } of ROUTES) {
    const { parameters, responses } = body.paths[path][method.toLowerCase()]
    const names = (where: string) =>
      parameters.filter((p: { in: string }) => p.in === where).map((p: { name: string }) => p.name)
    expect(names('path')).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    // A token is shown once, so its making cannot be repeated.
    expect(names('header')).toEqual(
      (method === 'POST' || `${method} ${path}` === 'DELETE /runs') && path !== '/v1/tokens' ? ['Idempotency-Key'] : [],
    )
    expect(Object.keys(responses).some((code) => code.startsWith('2'))).toBe(true)
  }
})

test('operation ids are unique', () => {
  expect(new Set(ROUTES.map((route) => route.operationId)).size).toBe(ROUTES.length)
})

test('a guarded app documents its bearer token', async () => {
  await using api = await Api.open({ authorize: bearer('t') })
  const { body } = await api.get('/openapi.json', { authorization: 'Bearer t' })
  expect(body.security).toEqual([{ bearer: [] }])
  expect(body.paths['/healthz'].get.security).toEqual([])
  expect(body.paths['/runs'].get.responses).toHaveProperty('401')
})

test('a run answers with no field that the document does not know', async () => {
  await using api = await Api.open()
  const { body: document } = await api.get('/openapi.json')
  const { body: run } = await api.post('/workflows/order/runs?wait=20s', { input: { id: 'o', cents: 1 } })
  const { properties, required } = document.components.schemas.Run
  expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(run)))
  expect(Object.keys(run)).toEqual(expect.arrayContaining(required))
})

test('the link of a child to its parent has no field that the document does not know', async () => {
  await using api = await Api.open()
  const { body: document } = await api.get('/openapi.json')
  const { body: parent } = await api.post('/workflows/parent/runs?wait=20s')
  const { parent: link } = (await api.get(`/runs/${parent.output}`)).body
  expect(link).toMatchObject({ runId: parent.runId, generation: 0 })
  expect(Object.keys(document.components.schemas.Run.properties.parent.properties)).toEqual(
    expect.arrayContaining(Object.keys(link)),
  )
})

test('problem types are stable', () => {
  expect(Object.entries(PROBLEMS).map(([kind, { status }]) => `${status} ${kind}`)).toMatchInlineSnapshot(`
    [
      "400 invalid-input",
      "400 malformed-json",
      "401 unauthorized",
      "403 forbidden",
      "403 foreign-origin",
      "404 unknown-run",
      "404 unknown-incident",
      "404 unknown-event",
      "404 unknown-schedule",
      "404 unknown-limit",
      "404 unknown-definition",
      "404 unknown-signal",
      "404 unknown-workflow",
      "404 unknown-mapping",
      "404 unknown-task",
      "404 unknown-token",
      "404 unknown-route",
      "405 method-not-allowed",
      "409 conflict",
      "409 refused",
      "410 gone",
      "413 too-large",
      "415 unsupported-media-type",
      "422 misfit",
      "429 throttled",
      "500 internal",
      "503 unavailable",
    ]
  `)
})
