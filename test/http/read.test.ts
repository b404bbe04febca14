import { expect, test } from 'vitest'
import { OverwinterClient } from '../../sdk/http-client/index.ts'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { createApp } from './by-the-document.ts'
import { Api, order, orderV2, ran, read, sleeper } from './fixture.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

test('a run shows what it is, with ISO times and without its secret', async () => {
  await using api = await Api.open()
  const { body } = await api.post('/workflows/order/runs?wait=20s', { input: { id: 'o1', cents: 1 }, id: 'r1' })
  expect((await api.get('/runs/r1')).body).toEqual(body)
  const { createdAt, startedAt, endedAt, ...rest } = body
  expect(rest).toEqual({
    runId: 'r1',
    workflow: 'order',
    version: 1,
    status: 'completed',
    input: { id: 'o1', cents: 1 },
    output: 2,
    tags: ['shop'],
    generation: 0,
    attempt: 1,
  })
  for (const time of [createdAt, startedAt, endedAt]) expect(time).toMatch(ISO)
})

test('a sleeping run shows what it waits for and until when', async () => {
  await using api = await Api.open()
  const { runId } = await api.local.start(sleeper, undefined)
  await api.reaches(runId, 'sleeping')
  const { body } = await api.get(`/runs/${runId}`)
  expect(body).toMatchObject({ status: 'sleeping', waitingFor: [{ kind: 'sleep', id: 'first' }] })
  expect(body.waitingFor[0].until).toMatch(ISO)
  expect(body.wakeAt).toBe(body.waitingFor[0].until)
})

test('the stack traces of errors stay inside unless they are asked for', async () => {
  ran.isBroken = true
  for (const exposeStacks of [false, true]) {
    await using api = await Api.open({ exposeStacks })
    const { body } = await api.post('/workflows/flaky/runs?wait=20s')
    const { body: history } = await api.get(`/runs/${body.runId}/history`)
    expect(body.error).toMatchObject({ name: 'StepError', cause: { name: 'Error', message: 'broken' } })
    expect(JSON.stringify([body, history]).includes('fixture.ts')).toBe(exposeStacks)
  }
})

test('?wait holds the answer until the run has ended', async () => {
  await using api = await Api.open()
  const { body } = await api.post('/workflows/approval/runs')
  const held = api.get(`/runs/${body.runId}?wait=20s`)
  await api.reaches(body.runId, 'waiting')
  await api.post(`/runs/${body.runId}/signals/approved`, { by: 'ann' })
  expect((await held).body).toMatchObject({ status: 'completed', output: 'by ann' })
})

test('?wait answers with the open run after 25 s at most', async () => {
  const env = await testEnv({ workflows: [sleeper] })
  const app = createApp({ client: env.client })
  const { runId } = await env.start(sleeper, undefined)
  let answer: Awaited<ReturnType<typeof read>> | undefined
  const held = Promise.resolve(app.request(`/runs/${runId}?wait=10m`)).then(async (response) => {
    answer = await read(response)
  })
  await env.advance('24s')
  expect(answer).toBeUndefined()
  await env.advance('1s')
  await held
  expect(answer).toMatchObject({ status: 200, body: { status: 'sleeping' } })
})

test('the history lists events in order, with ISO times', async () => {
  await using api = await Api.open()
  const { body } = await api.post('/workflows/sleeper/runs')
  await api.reaches(body.runId, 'sleeping')
  const history = await api.get(`/runs/${body.runId}/history`)
  expect(history.body.events.map((event: { type: string }) => event.type)).toEqual(['run.started', 'sleep.started'])
  for (const event of history.body.events) expect(event.at).toMatch(ISO)
  expect(history.body.events[1].until).toMatch(ISO)
})

test('runs are listed newest first, page by page', async () => {
  await using api = await Api.open()
  for (let i = 0; i < 7; i++) await api.local.start(sleeper, undefined, { id: `r${i}` })
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const { body }: { body: { runs: { runId: string }[]; cursor?: string } } = await api.get(
      `/runs?limit=3${cursor ? `&cursor=${cursor}` : ''}`,
    )
    expect(body.runs.length).toBeLessThanOrEqual(3)
    seen.push(...body.runs.map((run) => run.runId))
    cursor = body.cursor
  } while (cursor !== undefined)
  expect(seen).toEqual(['r6', 'r5', 'r4', 'r3', 'r2', 'r1', 'r0'])
})

test('runs are filtered by workflow, status, tag and time', async () => {
  await using api = await Api.open()
  await api.post('/workflows/order/runs?wait=20s', { input: { id: 'o', cents: 1 }, id: 'done', tags: ['vip'] })
  await api.post('/workflows/sleeper/runs', { id: 'asleep' })
  await api.reaches('asleep', 'sleeping')
  const ids = async (query: string) =>
    (await api.get(`/runs?${query}`)).body.runs.map((run: { runId: string }) => run.runId)
  expect(await ids('workflow=order')).toEqual(['done'])
  expect(await ids('status=sleeping')).toEqual(['asleep'])
  expect(await ids('tag=vip')).toEqual(['done'])
  expect(await ids('from=2020-01-01')).toEqual(['asleep', 'done'])
  expect(await ids('to=2020-01-01T00:00:00Z')).toEqual([])
  expect(await ids(`from=${Date.now() + 60_000}`)).toEqual([])
})

test('every bad filter is named', async () => {
  await using api = await Api.open()
  const { status, body } = await api.get('/runs?status=sleepy&limit=0&from=once&to=later')
  expect(status).toBe(400)
  expect(body.problems.map((problem: { path: string }) => problem.path)).toEqual(['?status', '?limit', '?from', '?to'])
  expect((await api.get('/runs?cursor=made-up')).status).toBe(400)
})

test.each(['/runs/nope', '/runs/nope?wait=1s', '/runs/nope/history', '/runs/%00%ff'])(
  'an unknown run is 404: %s',
  async (path) => {
    await using api = await Api.open()
    const { status, body } = await api.get(path)
    expect([status, body.type]).toEqual([404, 'urn:overwinter:problem:unknown-run'])
  },
)

test('workflows are listed with their versions', async () => {
  await using api = await Api.open({}, [orderV2, order, sleeper])
  expect((await api.get('/workflows')).body).toEqual({
    workflows: [
      { name: 'order', versions: [1, 2], latest: 2 },
      { name: 'sleeper', versions: [1], latest: 1 },
    ],
  })
})

test('a history that is too large for one answer comes in pages, and the client puts them together', async () => {
  const large = workflow('large', async (ctx, bytes: number) => {
    for (let i = 0; i < 5; i++) await ctx.step(`s${i}`, () => 'x'.repeat(bytes))
    return 'done'
  })
  await using api = await Api.open({}, [large])
  await api.local.result((await api.local.start(large, 1_500_000, { id: 'large' })).runId)
  const { body: first } = await api.get('/runs/large/history')
  expect(first.events.map(({ id, type }: { id?: string; type: string }) => id ?? type)).toEqual([
    'run.started',
    's0',
    's1',
  ])
  const { body: second } = await api.get(`/runs/large/history?cursor=${first.cursor}`)
  expect(second.events.map(({ id }: { id?: string }) => id)).toEqual(['s2', 's3'])
  const client = new OverwinterClient({
    url: 'http://here',
    fetch: (input, init) => Promise.resolve(api.app.request(input as string, init)),
  })
  expect(await client.history('large')).toEqual(await api.local.history('large'))
  for (const cursor of ['x', '0', '-1.2.0', '0.1', '0.1.2.3'])
    expect((await api.get(`/runs/large/history?cursor=${cursor}`)).status).toBe(400)
  expect((await api.get('/runs/large/history?cursor=7.1.0')).status).toBe(409)
})

test('a page of runs is cut to what fits into one answer', async () => {
  const echo = workflow('echo', async (_ctx, text: string) => String(text.length))
  await using api = await Api.open({}, [echo])
  for (let i = 0; i < 5; i++)
    await api.local.result((await api.local.start(echo, 'x'.repeat(1_500_000), { id: `r${i}` })).runId)
  const seen: string[] = []
  let query = ''
  do {
    const { body } = await api.get(`/runs?limit=100${query}`)
    expect(JSON.stringify(body).length).toBeLessThan(5_000_000)
    seen.push(...body.runs.map(({ runId }: { runId: string }) => runId))
    query = body.cursor === undefined ? '' : `&cursor=${body.cursor}`
  } while (query !== '')
  expect(seen).toEqual(['r4', 'r3', 'r2', 'r1', 'r0'])
})
