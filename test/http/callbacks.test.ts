import { expect, test } from 'vitest'
import { HttpProblem } from '../../functions/http/problem.ts'
import { OverwinterClient } from '../../sdk/http-client/index.ts'
import { Api, tokens } from './fixture.ts'

const KEY = { 'idempotency-key': 'k1' }

async function asked(api: Api): Promise<{ runId: string; token: string }> {
  const { body } = await api.post('/workflows/asker/runs')
  await api.reaches(body.runId, 'waiting')
  return { runId: body.runId, token: tokens.get(body.runId)! }
}

test('a callback is completed with a result', async () => {
  await using api = await Api.open()
  const { runId, token } = await asked(api)
  const { status, body } = await api.post(`/callbacks/${token}`, { result: 'yes' })
  expect([status, body]).toEqual([202, { accepted: true }])
  expect(await api.local.result(runId)).toBe('yes')
})

test('a callback is failed with an error, which has no stack of ours', async () => {
  await using api = await Api.open({ exposeStacks: true })
  const { runId, token } = await asked(api)
  expect(
    (await api.post(`/callbacks/${token}`, { error: { message: 'refused', name: 'CardError', code: 'E7' } })).status,
  ).toBe(202)
  await api.reaches(runId, 'failed')
  const { body } = await api.get(`/runs/${runId}/history`)
  const failed = body.events.find((event: { type: string }) => event.type === 'callback.failed')
  expect(failed.error).toEqual({ name: 'CardError', message: 'refused', code: 'E7' })
})

test('settling it again is a conflict, unless a key says that it may be a repeat and the result is the same', async () => {
  await using api = await Api.open()
  const { runId, token } = await asked(api)
  await api.post(`/callbacks/${token}`, { result: 'yes' }, KEY)
  expect((await api.post(`/callbacks/${token}`, { result: 'yes' }, KEY)).status).toBe(202)
  await api.local.result(runId)
  expect((await api.post(`/callbacks/${token}`, { result: 'yes' }, KEY)).status).toBe(202)
  expect((await api.post(`/callbacks/${token}`, { result: 'no' }, KEY)).status).toBe(409)
  expect((await api.post(`/callbacks/${token}`, { error: { message: 'yes' } }, KEY)).status).toBe(409)
  expect((await api.post(`/callbacks/${token}`, { result: 'yes' })).status).toBe(409)
})

test('a forged token is 404 and a garbled one 400', async () => {
  await using api = await Api.open()
  const { token } = await asked(api)
  const [address] = token.split('.')
  expect((await api.post(`/callbacks/${address}.forged`, { result: 1 })).status).toBe(404)
  expect((await api.post('/callbacks/garbled', { result: 1 })).status).toBe(400)
})

test.each([
  [{ result: 1, error: { message: 'x' } }, '$'],
  [{ error: 'x' }, '$.error'],
  [{ error: {} }, '$.error.message'],
  [{ error: { message: 'x', name: 1 } }, '$.error.name'],
  [{ outcome: 1 }, '$.outcome'],
])('a body that is not a result or an error is refused: %j', async (sent, path) => {
  await using api = await Api.open()
  const { runId, token } = await asked(api)
  const { status, body } = await api.post(`/callbacks/${token}`, sent)
  expect([status, body.problems[0].path]).toEqual([400, path])
  expect((await api.local.get(runId)).status).toBe('waiting')
})

test('the open callbacks of a run are listed, at the address of 0.1.0 too', async () => {
  await using api = await Api.open()
  const { runId, token } = await asked(api)
  const listed = await api.get(`/callbacks?run=${runId}`)
  expect([listed.status, listed.body]).toEqual([
    200,
    { callbacks: [expect.objectContaining({ name: 'answer', token })] },
  ])
  expect((await api.get(`/runs/${runId}/callbacks`)).body).toEqual(listed.body)
  expect(await api.get('/callbacks')).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('say which run') },
  })
  for (const id of ['nobody', 'x'.repeat(3_000)]) expect((await api.get(`/callbacks?run=${id}`)).status).toBe(404)
})

test('the client finds the list at a server of 0.1.0', async () => {
  await using api = await Api.open()
  const { runId, token } = await asked(api)
  const former = (async (url: string, init: RequestInit) =>
    url.includes('/callbacks?')
      ? new HttpProblem('unknown-route', 'nothing is here').toResponse()
      : api.app.request(url, init)) as typeof fetch
  const client = new OverwinterClient({ url: 'http://localhost', fetch: former })
  expect((await client.listCallbacks(runId)).map((open) => open.token)).toEqual([token])
})
