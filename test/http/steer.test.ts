import { beforeEach, expect, test } from 'vitest'
import { Api, ran } from './fixture.ts'

const KEY = { 'idempotency-key': 'k1' }

beforeEach(() => {
  ran.before = 0
  ran.isBroken = true
})

async function started(api: Api, workflow: string, status: Parameters<Api['reaches']>[1]): Promise<string> {
  const { body } = await api.post(`/workflows/${workflow}/runs`)
  await api.reaches(body.runId, status)
  return body.runId
}

test('a signal is accepted once per key, also after it has ended the run', async () => {
  await using api = await Api.open()
  const runId = await started(api, 'approval', 'waiting')
  const first = await api.post(`/runs/${runId}/signals/approved`, { by: 'ann' }, KEY)
  expect([first.status, first.body]).toEqual([202, { accepted: true }])
  expect(await api.local.result(runId)).toBe('by ann')
  const repeat = await api.post(`/runs/${runId}/signals/approved`, { by: 'ann' }, KEY)
  expect([repeat.status, repeat.body]).toEqual([202, { accepted: false }])
  const another = await api.post(`/runs/${runId}/signals/approved`, { by: 'ann' }, { 'idempotency-key': 'k2' })
  expect([another.status, another.body.type]).toEqual([409, 'urn:overwinter:problem:conflict'])
})

test('a signal with an empty body is told from a timeout', async () => {
  await using api = await Api.open()
  const runId = await started(api, 'bell', 'waiting')
  expect((await api.post(`/runs/${runId}/signals/ring`)).body).toEqual({ accepted: true })
  expect(await api.local.result(runId)).toEqual({ rang: true })
})

test('cancel asks a run to stop and gives the reason; a repeat with the key is no conflict', async () => {
  await using api = await Api.open()
  const runId = await started(api, 'sleeper', 'sleeping')
  expect((await api.post(`/runs/${runId}/cancel`, { reason: 'not wanted' }, KEY)).status).toBe(202)
  await api.reaches(runId, 'cancelled')
  expect((await api.get(`/runs/${runId}`)).body.error.message).toContain('not wanted')
  expect((await api.post(`/runs/${runId}/cancel`, { reason: 'not wanted' }, KEY)).body).toEqual({
    runId,
    status: 'cancelled',
  })
  expect((await api.post(`/runs/${runId}/cancel`)).status).toBe(409)
})

test('terminate ends a run at once; a repeat with the key is no conflict', async () => {
  await using api = await Api.open()
  const runId = await started(api, 'sleeper', 'sleeping')
  const first = await api.post(`/runs/${runId}/terminate`, { reason: 'enough' }, KEY)
  expect([first.status, first.body]).toEqual([200, { runId, status: 'terminated' }])
  expect((await api.post(`/runs/${runId}/terminate`, {}, KEY)).status).toBe(200)
  expect((await api.post(`/runs/${runId}/terminate`)).status).toBe(409)
})

test('terminate with a key is still a conflict for a run that ended otherwise', async () => {
  await using api = await Api.open()
  const { body } = await api.post('/workflows/order/runs?wait=20s', { input: { id: 'o', cents: 1 } })
  expect((await api.post(`/runs/${body.runId}/terminate`, {}, KEY)).status).toBe(409)
  expect((await api.post(`/runs/${body.runId}/cancel`, {}, KEY)).status).toBe(409)
})

test('retry lets a failed run go on; the same key retries it only once', async () => {
  await using api = await Api.open()
  const runId = await started(api, 'flaky', 'failed')
  expect((await api.post(`/runs/${runId}/retry`, undefined, KEY)).status).toBe(202)
  await api.reaches(runId, 'failed')
  ran.isBroken = false
  const repeat = await api.post(`/runs/${runId}/retry`, undefined, KEY)
  expect([repeat.status, repeat.body.status]).toEqual([202, 'failed'])
  expect((await api.post(`/runs/${runId}/retry`, undefined, { 'idempotency-key': 'k2' })).status).toBe(202)
  expect(await api.local.result(runId)).toBe(1)
  expect((await api.post(`/runs/${runId}/retry`)).status).toBe(409)
})

test('rerun starts a new run from a step; the same key gives the same run', async () => {
  await using api = await Api.open()
  const runId = await started(api, 'flaky', 'failed')
  ran.isBroken = false
  const first = await api.post(`/runs/${runId}/rerun`, { from: 'work' }, KEY)
  expect(first.status).toBe(201)
  expect(first.headers.get('location')).toBe(`/runs/${first.body.runId}`)
  expect(await api.local.result(first.body.runId)).toBe(1)
  expect(ran.before).toBe(1)
  const repeat = await api.post(`/runs/${runId}/rerun`, { from: 'work' }, KEY)
  expect([repeat.status, repeat.body.runId]).toEqual([200, first.body.runId])
  const named = await api.post(`/runs/${runId}/rerun`, { from: 'work', id: 'again' })
  expect([named.status, named.body.runId]).toEqual([201, 'again'])
  expect((await api.post(`/runs/${runId}/rerun`, { from: 'work', id: 'again' })).status).toBe(409)
})

test('rerun says what is wrong with the request', async () => {
  await using api = await Api.open()
  const runId = await started(api, 'flaky', 'failed')
  const { status, body } = await api.post(`/runs/${runId}/rerun`, { from: '', id: '' })
  expect([status, body.problems.map((problem: { path: string }) => problem.path)]).toEqual([400, ['$.from', '$.id']])
  expect((await api.post(`/runs/${runId}/rerun`, { from: 'nowhere' })).status).toBe(400)
})

test('wake ends the sleep a run is in; the same key wakes it only once', async () => {
  await using api = await Api.open()
  const runId = await started(api, 'sleeper', 'sleeping')
  const sleepsIn = async () => (await api.get(`/runs/${runId}`)).body.waitingFor?.[0].id
  expect(await sleepsIn()).toBe('first')
  expect((await api.post(`/runs/${runId}/wake`, undefined, KEY)).status).toBe(202)
  while ((await sleepsIn()) !== 'second') await new Promise((resolve) => setImmediate(resolve))
  expect((await api.post(`/runs/${runId}/wake`, undefined, KEY)).status).toBe(202)
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
  expect(await sleepsIn()).toBe('second')
  await api.post(`/runs/${runId}/wake`, undefined, { 'idempotency-key': 'k2' })
  expect(await api.local.result(runId)).toBe('awake')
  expect((await api.post(`/runs/${runId}/wake`, undefined, { 'idempotency-key': 'k2' })).status).toBe(202)
  expect((await api.post(`/runs/${runId}/wake`)).status).toBe(409)
})

test.each(['signals/x', 'cancel', 'terminate', 'retry', 'wake', 'rerun'])(
  'an unknown run is 404: %s',
  async (action) => {
    await using api = await Api.open()
    const { status, body } = await api.post(`/runs/nope/${action}`, action === 'rerun' ? { from: 'a' } : {})
    expect([status, body.type]).toEqual([404, 'urn:overwinter:problem:unknown-run'])
  },
)

test('a reason must be a short string', async () => {
  await using api = await Api.open()
  const runId = await started(api, 'sleeper', 'sleeping')
  for (const reason of [7, 'x'.repeat(1_001)]) {
    const { status, body } = await api.post(`/runs/${runId}/cancel`, { reason })
    expect([status, body.problems[0].path]).toEqual([400, '$.reason'])
  }
  expect((await api.local.get(runId)).status).toBe('sleeping')
})

test('an ended run can be erased, an open one not; afterwards there is nothing of it', async () => {
  await using api = await Api.open()
  const runId = await started(api, 'sleeper', 'sleeping')
  const erase = () => api.app.request(`/runs/${runId}`, { method: 'DELETE' })
  const early = await erase()
  expect([early.status, ((await early.json()) as { detail: string }).detail]).toEqual([
    409,
    `run '${runId}' has not ended; cancel or terminate it first`,
  ])
  await api.post(`/runs/${runId}/terminate`)
  expect((await erase()).status).toBe(204)
  for (const path of ['', '/history']) expect((await api.get(`/runs/${runId}${path}`)).status).toBe(404)
  expect((await api.get('/runs')).body.runs).toEqual([])
  expect((await erase()).status).toBe(404)
})
