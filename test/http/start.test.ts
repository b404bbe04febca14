import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { createApp } from './by-the-document.ts'
import { Api, oddName, order, orderV2, read } from './fixture.ts'

const valid = { id: 'o1', cents: 5 }

test('starting answers 201 with the run id, its status and where it is', async () => {
  await using api = await Api.open()
  const { status, headers, body } = await api.post('/workflows/order/runs', { input: valid, id: 'mine' })
  expect(status).toBe(201)
  expect(headers.get('location')).toBe('/runs/mine')
  expect(body).toEqual({ runId: 'mine', status: 'pending' })
  expect(await api.local.result('mine')).toBe(6)
})

test('the same id and input again answer 200 and the first run; another input is a conflict', async () => {
  await using api = await Api.open()
  await api.post('/workflows/order/runs', { input: valid, id: 'mine' })
  const again = await api.post('/workflows/order/runs', { input: { cents: 5, id: 'o1' }, id: 'mine' })
  expect([again.status, again.body.runId]).toEqual([200, 'mine'])
  const other = await api.post('/workflows/order/runs', { input: { ...valid, cents: 6 }, id: 'mine' })
  expect([other.status, other.body.type]).toEqual([409, 'urn:overwinter:problem:conflict'])
})

test('an Idempotency-Key gives the same run for the same key', async () => {
  await using api = await Api.open()
  const key = { 'idempotency-key': 'order 17' }
  const first = await api.post('/workflows/order/runs', { input: valid }, key)
  const again = await api.post('/workflows/order/runs', { input: valid }, key)
  const other = await api.post('/workflows/order/runs', { input: valid }, { 'idempotency-key': 'order 18' })
  expect([first.status, again.status, other.status]).toEqual([201, 200, 201])
  expect(again.body.runId).toBe(first.body.runId)
  expect(other.body.runId).not.toBe(first.body.runId)
})

test('?wait answers with the run once it has ended', async () => {
  await using api = await Api.open()
  const first = await api.post('/workflows/order/runs?wait=20s', { input: valid, id: 'mine' })
  expect(first.status).toBe(201)
  expect(first.headers.get('location')).toBe('/runs/mine')
  expect(first.body).toMatchObject({ runId: 'mine', status: 'completed', output: 6 })
  const again = await api.post('/workflows/order/runs?wait=20s', { input: valid, id: 'mine' })
  expect([again.status, again.body.output]).toEqual([200, 6])
})

test('a bad ?wait starts nothing', async () => {
  await using api = await Api.open()
  const { status, body } = await api.post('/workflows/order/runs?wait=soon', { input: valid })
  expect([status, body.problems[0].path]).toEqual([400, '?wait'])
  expect((await api.local.list()).runs).toEqual([])
})

test('every problem of the body and of the input is listed with its path, and nothing is written', async () => {
  await using api = await Api.open()
  const { status, headers, body } = await api.post('/workflows/order/runs', {
    input: { id: 1, cents: 'x' },
    id: 'no spaces',
    delay: 'soon',
    startAt: 'never',
    tags: ['fine', ''],
    inptu: 1,
  })
  expect(status).toBe(400)
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(body).toMatchObject({ type: 'urn:overwinter:problem:invalid-input', status: 400 })
  const paths = body.problems.map((problem: { path: string }) => problem.path).sort()
  expect(paths).toEqual([
    '$.delay',
    '$.id',
    '$.inptu',
    '$.input.cents',
    '$.input.id',
    '$.startAt',
    '$.startAt',
    '$.tags[1]',
  ])
  expect((await api.local.list()).runs).toEqual([])
})

test('an input that does not fit its schema is refused with the paths in the body', async () => {
  await using api = await Api.open()
  const { status, body } = await api.post('/workflows/order/runs', { input: { id: 'o1' } })
  expect(status).toBe(400)
  expect(body.detail).toBe(
    "the input of workflow 'order' does not fit its schema; change what is listed here and try again",
  )
  expect(body.problems).toHaveLength(1)
  expect(body.problems[0].path).toBe('$.input.cents')
})

test.each([[[]], ['text'], [null], [7]])('a body that is not an object is refused: %j', async (sent) => {
  await using api = await Api.open()
  const { status, body } = await api.post('/workflows/sleeper/runs', sent)
  expect([status, body.problems[0].path]).toEqual([400, '$'])
})

test('a start more than 365 days ahead is refused', async () => {
  await using api = await Api.open()
  const { status, body } = await api.post('/workflows/sleeper/runs', {
    startAt: new Date(Date.now() + 366 * 86_400_000).toISOString(),
  })
  expect([status, body.problems[0].path]).toEqual([400, '$.startAt'])
})

test('an empty body starts without an input; delay and tags are kept', async () => {
  await using api = await Api.open()
  expect((await api.post('/workflows/approval/runs')).status).toBe(201)
  const { body } = await api.post('/workflows/order/runs', { input: valid, delay: { hours: 1 }, tags: ['vip'] })
  const run = await api.local.get(body.runId)
  expect(run.tags).toEqual(['shop', 'vip'])
  expect(run.wakeAt! - run.createdAt).toBe(3_600_000)
})

test('an unknown workflow is 404 with the names that are known', async () => {
  await using api = await Api.open()
  const { status, body } = await api.post('/workflows/nope/runs', { input: valid })
  expect([status, body.type]).toEqual([404, 'urn:overwinter:problem:unknown-workflow'])
  expect(body.known).toContain('order')
})

test('the latest version starts unless another is asked for', async () => {
  await using api = await Api.open({}, [order, orderV2])
  const latest = await api.post('/workflows/order/runs?wait=20s', { input: valid })
  const first = await api.post('/workflows/order/runs?wait=20s', { input: valid, version: 1 })
  const none = await api.post('/workflows/order/runs', { input: valid, version: 3 })
  expect([latest.body.version, latest.body.output]).toEqual([2, 'two'])
  expect([first.body.version, first.body.output]).toEqual([1, 6])
  expect([none.status, none.body.type]).toEqual([404, 'urn:overwinter:problem:unknown-workflow'])
})

test('a name with slashes, spaces and umlauts works when it is encoded', async () => {
  await using api = await Api.open()
  const { status, body } = await api.post(`/workflows/${encodeURIComponent(oddName.name)}/runs?wait=20s`)
  expect([status, body.output]).toEqual([201, 'odd'])
})

test('an Idempotency-Key that is too long is refused', async () => {
  await using api = await Api.open()
  const { status, body } = await api.post('/workflows/approval/runs', {}, { 'idempotency-key': 'k'.repeat(101) })
  expect([status, body.problems[0].path]).toEqual([400, 'header Idempotency-Key'])
})

test('a debounced start that chooses its id, or its time, is refused at that field', async () => {
  const index = workflow('index', { debounce: { key: () => 'one', wait: '1s' } }, async () => 1)
  await using local = await Local.open({ path: ':memory:', workflows: [index], log: () => {} })
  const app = createApp({ client: local })
  for (const [field, value] of Object.entries({ id: 'mine', startAt: '2030-01-01T00:00:00Z', delay: '1h' })) {
    const { status, body } = await read(
      await app.request('/workflows/index/runs', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ [field]: value }),
      }),
    )
    expect([status, body.problems]).toEqual([
      400,
      [{ path: `$.${field}`, message: expect.stringContaining('become one run (its debounce or batch)') }],
    ])
  }
})
