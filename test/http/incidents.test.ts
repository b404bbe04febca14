import { expect, test } from 'vitest'
import { z } from 'zod'
import { OverwinterClient } from '../../sdk/http-client/index.ts'
import { request, signal, workflow } from '../../sdk/index.ts'
import { Api } from './fixture.ts'

const broken = workflow('broken', async (ctx) => {
  await ctx.step(
    'charge',
    () => {
      throw new Error(`card of ${ctx.info.runId} was refused`)
    },
    { retry: { attempts: 1 } },
  )
  return ''
})

async function withFailures(count: number): Promise<Api> {
  const api = await Api.open({}, [broken])
  for (let i = 0; i < count; i++) {
    await api.local.start(broken, undefined, { id: `b${i}` })
    await api.reaches(`b${i}`, 'failed')
  }
  return api
}

const clientOf = (api: Api) =>
  new OverwinterClient({
    url: 'http://here',
    fetch: (input, init) => Promise.resolve(api.app.request(input as string, init)),
  })

test('incidents are listed, counted, tried and retried over HTTP as in the process', async () => {
  await using api = await withFailures(3)
  const client = clientOf(api)
  expect(await client.incidents()).toEqual(await api.local.incidents())
  expect(await client.counts()).toEqual({ failed: { count: 3 } })
  const { fingerprint } = (await client.incidents()).incidents[0]!
  const bulk = { action: 'retry', filter: { incident: fingerprint } } as const
  expect(await client.wouldSteer(bulk)).toEqual({
    matches: 3,
    isComplete: true,
    runs: ['b2', 'b1', 'b0'],
    can: 3,
    refused: [],
    unchecked: 0,
  })
  const { runId } = await client.steerMany(bulk, { idempotencyKey: 'twice' })
  expect((await client.steerMany(bulk, { idempotencyKey: 'twice' })).runId).toBe(runId)
  expect(await client.result(runId)).toMatchObject({ matched: 3, done: 3 })
  for (let i = 0; i < 3; i++)
    expect((await api.local.history(`b${i}`)).some(({ type }) => type === 'run.retried')).toBe(true)
})

test('an incident and other filters are true together, in its own path and in that of filters', async () => {
  await using api = await withFailures(3)
  const client = clientOf(api)
  const { fingerprint: incident } = (await client.incidents()).incidents[0]!
  const would = async (filter: object) =>
    (await client.wouldSteer({ action: 'retry', filter: { incident, ...filter } })).runs
  expect(await would({ idPrefix: 'b1' })).toEqual(['b1'])
  expect(await would({ tag: 'customer:nobody' })).toEqual([])
  expect(await would({ since: Date.now() + 60_000 })).toEqual([])
  for (const since of ['1h', Date.now() - 60_000, new Date(0).toISOString()])
    expect(
      (await api.post('/bulk/retry', { filter: { incident, idPrefix: 'b0', since }, dryRun: true })).body,
    ).toMatchObject({ runs: ['b0'] })
  expect((await api.get('/incidents?since=1h')).body.incidents).toHaveLength(1)
  expect((await api.get('/incidents?since=2200-01-01T00:00:00Z')).body.incidents).toEqual([])
  expect((await api.get('/incidents?since=lately')).status).toBe(400)
})

test('all runs of an incident are rerun over HTTP, and one is, from its beginning', async () => {
  await using api = await withFailures(2)
  const client = clientOf(api)
  const { fingerprint: incident } = (await client.incidents()).incidents[0]!
  const { runId } = await client.steerMany({ action: 'rerun', filter: { incident } })
  expect(await client.result(runId)).toMatchObject({ matched: 2, done: 2 })
  expect((await api.post('/runs/b0/rerun', {})).status).toBe(201)
  expect((await api.post(`/incidents/${incident}/retry`, { from: 'charge' })).status).toBe(400)
  expect((await api.post('/runs/b0/rerun', { inheritUndone: 'yes' })).status).toBe(400)
})

test('so it is by a filter', async () => {
  await using api = await withFailures(2)
  const client = clientOf(api)
  const bulk = { action: 'retry', filter: { status: 'failed', workflow: 'broken', from: 0 } } as const
  expect(await client.wouldSteer(bulk)).toMatchObject({ matches: 2 })
  expect(await client.result((await client.steerMany(bulk)).runId)).toMatchObject({ matched: 2, done: 2 })
})

test('what is not meant so is refused, with nothing started', async () => {
  await using api = await withFailures(1)
  const { fingerprint } = (await api.local.incidents()).incidents[0]!
  const refused: [path: string, body: unknown, status: number][] = [
    [`/incidents/${fingerprint}/retry`, { perSecond: 0 }, 400],
    [`/incidents/${fingerprint}/retry`, { perSecond: '10' }, 400],
    [`/incidents/${fingerprint}/retry`, { limit: 10_001 }, 400],
    [`/incidents/${fingerprint}/retry`, { dryrun: true }, 400],
    [`/incidents/${fingerprint}/cancel`, {}, 404],
    ['/incidents/0000000000000/retry', {}, 404],
    ['/bulk/retry', {}, 400],
    ['/bulk/retry', { filter: { workflow: 'broken' } }, 400],
    ['/bulk/retry', { filter: { status: 'fialed' } }, 400],
    ['/bulk/retry', { filter: { status: 'failed', workfow: 'broken' } }, 400],
    ['/bulk/terminate', { filter: { status: 'failed' } }, 400],
  ]
  for (const [path, body, status] of refused)
    expect([path, body, (await api.post(path, body)).status]).toEqual([path, body, status])
  expect((await api.local.list()).runs).toHaveLength(1)
})

test('a filter by a workflow that is not known is refused with those there are; one whose runs outlived its code is not', async () => {
  await using api = await withFailures(1)
  const filter = (workflow: string) => ({ filter: { status: 'failed', workflow }, dryRun: true })
  const { status, body } = await api.post('/bulk/retry', filter('borken'))
  expect([status, body.type, body.known]).toEqual([
    404,
    expect.stringContaining('unknown-workflow'),
    expect.arrayContaining(['broken']),
  ])
  const now = Date.now()
  const run = {
    id: 'left',
    workflow: 'former',
    version: 1,
    format: 2,
    input: null,
    secret: 's',
    createdAt: now,
    wakeAt: now + 86_400_000,
    tags: [],
  }
  await api.local.world.store.create(run)
  expect(await api.post('/bulk/retry', filter('former'))).toMatchObject({ status: 200, body: { matches: 0 } })
})

test('a workflow tells what it takes, as JSON Schema', async () => {
  const options = {
    input: z.object({ email: z.email(), cents: z.number().min(1) }),
    signals: [
      signal('approved', z.object({ by: z.string() })),
      request('status', { reply: z.string() }),
      signal('stop'),
    ],
  }
  await using api = await Api.open({}, [
    workflow('asks', options, async () => ''),
    workflow('asks', { version: 2 }, async () => ''),
  ])
  const { body } = await api.get('/workflows/asks')
  expect(body).toEqual({ name: 'asks', versions: [1, 2], latest: 2, signals: [] })
  await using first = await Api.open({}, [workflow('asks', options, async () => '')])
  expect((await first.get('/workflows/asks')).body).toMatchObject({
    input: { type: 'object', properties: { email: { format: 'email' }, cents: { minimum: 1 } } },
    signals: [
      { name: 'approved', kind: 'signal', payload: { properties: { by: { type: 'string' } } } },
      { name: 'status', kind: 'request' },
      { name: 'stop', kind: 'signal' },
    ],
  })
  const missing = await first.get('/workflows/akss')
  expect([missing.status, missing.body.known]).toEqual([404, ['asks']])
})

test('what Overwinter itself runs is left out of a list on request, unless it is asked for by its name', async () => {
  await using api = await withFailures(1)
  const { fingerprint } = (await api.local.incidents()).incidents[0]!
  const { runId } = await api.local.steerMany({ action: 'retry', filter: { incident: fingerprint } })
  const listed = async (query: string) =>
    (await api.get(`/runs?${query}`)).body.runs.map((run: { runId: string }) => run.runId)
  expect(await listed('')).toContain(runId)
  expect(await listed('internal=hide')).toEqual(['b0'])
  expect(await listed(`internal=hide&idPrefix=${runId}`)).toEqual([runId])
  expect((await api.get('/runs?internal=maybe')).status).toBe(400)
})
