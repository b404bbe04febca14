import { describe, expect, it } from 'vitest'
import { ConflictError, InvalidInputError, LimitNotFoundError, OverwinterClient } from '../../sdk/http-client/index.ts'
import { limit, signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { createApp } from './by-the-document.ts'
import { read } from './fixture.ts'

const go = signal('go')
const order = workflow(
  'order',
  { concurrency: { limit: 1, key: ({ tenant }) => tenant } },
  async (ctx, _: { tenant: string }) => void (await ctx.waitFor(go)),
)
const openai = limit('openai', { rate: 1, per: '1d' })
const ask = workflow('ask', async (ctx) => ctx.step('ask', () => 'done', { limit: openai }))

async function open() {
  const local = await Local.open({ path: ':memory:', workflows: [order, ask], log: () => {} })
  const app = createApp({ client: local })
  const send = async (method: string, path: string, body?: unknown) =>
    read(
      await app.request(path, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
  const client = new OverwinterClient({
    url: 'http://here',
    fetch: async (input, init) => app.request(new Request(input, init)),
  })
  const runs = { first: 'a1', second: 'a2', third: 'a3' }
  for (const id of Object.values(runs)) await local.start(order, { tenant: 'a' }, { id })
  await expect.poll(async () => (await local.get('a1')).status).toBe('waiting')
  return { local, send, client, [Symbol.asyncDispose]: () => local.close() }
}

describe('limits over HTTP', () => {
  it('are shown with their numbers, who is inside and who is next, and a queued run with its place', async () => {
    await using it = await open()
    const { status, body } = await it.send('GET', '/limits')
    expect(status).toBe(200)
    expect(body).toEqual({
      limits: [
        {
          ...{
            name: 'order:concurrency',
            code: { concurrency: 1 },
            inForce: { concurrency: 1 },
            isSet: false,
            paused: false,
          },
          gates: [{ key: 'a', inside: 1, holders: ['a1'], waiting: { count: 2 }, next: ['a2', 'a3'] }],
        },
      ],
    })
    expect((await it.send('GET', '/limits/order%3Aconcurrency')).body).toEqual(body.limits[0])
    expect((await it.send('GET', '/limits/order:concurrency')).body).toEqual(body.limits[0])
    expect((await it.send('GET', '/runs/a3')).body).toMatchObject({
      status: 'queued',
      queue: { limit: 'order:concurrency', key: 'a', place: { count: 2 }, paused: false },
    })
    expect(
      (await it.send('GET', '/runs?status=queued')).body.runs.map(({ runId }: { runId: string }) => runId),
    ).toEqual(['a3', 'a2'])
  })

  it('say when a queued run is expected to start, as an ISO time, once a holder has come out', async () => {
    await using it = await open()
    await it.local.signal('a1', go, undefined)
    await expect.poll(async () => (await it.local.get('a2')).status).toBe('waiting')
    const { queue } = (await it.send('GET', '/runs/a3')).body
    expect(queue.expectedAt).toMatch(/^\d{4}-.*Z$/)
    expect((await it.client.get('a3')).queue).toMatchObject({
      key: 'a',
      place: { count: 1 },
      expectedAt: expect.any(Number),
    })
  })

  it('are set, and those who wait go at once; reset brings the numbers of the code back', async () => {
    await using it = await open()
    expect((await it.send('PUT', '/limits/order:concurrency', { concurrency: 2 })).body).toMatchObject({
      inForce: { concurrency: 2 },
      isSet: true,
    })
    await expect.poll(async () => (await it.local.get('a2')).status).toBe('waiting')
    expect((await it.local.get('a3')).status).toBe('queued')
    const { status, body } = await it.send('PUT', '/limits/order:concurrency', { rate: 5, per: '1m' })
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('it takes a concurrency and no rate')])
    await it.local.result((await it.local.start(ask, undefined)).runId)
    expect((await it.send('PUT', '/limits/openai', { concurrency: 2, rate: 5, per: '1m' })).body).toMatchObject({
      inForce: { concurrency: 2, rate: 5, perMs: 60_000 },
    })
    expect((await it.send('PUT', '/limits/openai', { per: 30_000 })).body.inForce).toEqual({
      concurrency: 2,
      rate: 5,
      perMs: 30_000,
    })
    expect((await it.send('POST', '/limits/order:concurrency/reset')).body).toMatchObject({
      inForce: { concurrency: 1 },
      isSet: false,
    })
  })

  it('let nothing in while they are paused', async () => {
    await using it = await open()
    expect(await it.send('POST', '/limits/order:concurrency/pause')).toMatchObject({
      status: 200,
      body: { paused: true },
    })
    expect((await it.send('GET', '/runs/a2')).body.queue).toEqual({
      limit: 'order:concurrency',
      key: 'a',
      place: { count: 1 },
      paused: true,
    })
    await it.local.signal('a1', go, undefined)
    await expect.poll(async () => (await it.local.get('a1')).status).toBe('completed')
    expect((await it.local.get('a2')).status).toBe('queued')
    expect((await it.send('POST', '/limits/order:concurrency/resume')).body).toMatchObject({ paused: false })
    await expect.poll(async () => (await it.local.get('a2')).status).toBe('waiting')
  })

  it('that do not exist are a 404 that names those that do', async () => {
    await using it = await open()
    for (const [method, path] of [
      ['GET', '/limits/opena'],
      ['PUT', '/limits/opena'],
      ['POST', '/limits/opena/pause'],
      ['POST', '/limits/opena/resume'],
      ['POST', '/limits/opena/reset'],
    ] as const) {
      const { status, body } = await it.send(method, path, method === 'PUT' ? { rate: 1 } : undefined)
      expect([method, path, status, body.type]).toEqual([method, path, 404, 'urn:overwinter:problem:unknown-limit'])
      expect(body.detail).toContain('known: order:concurrency')
    }
    expect((await it.send('GET', '/limits/pause:all')).status).toBe(404)
    expect((await it.send('GET', `/limits/${'x'.repeat(5_000)}`)).status).toBe(404)
  })

  it.each([
    [{ concurrency: 0 }, 'whole number from 1'],
    [{ concurrency: 1.5 }, 'whole number from 1'],
    [{ concurrency: '5' }, 'must be a whole number'],
    [{ concurrency: null }, 'must be a whole number'],
    [{ concurrency: 1_000_000 }, 'from 1 to 1,000'],
    [{ rate: -1, per: '1m' }, 'whole number from 1'],
    [{ rate: 1, per: 'soon' }, 'is not a duration'],
    [{ rate: 1, per: null }, 'must be a duration'],
    [{ rate: 1, per: [1] }, 'is not a duration'],
    [{ rate: 1, per: '1ms' }, 'from 1 second to 31 days'],
    [{ per: '1m' }, 'it takes a concurrency and no rate'],
    [{ limit: 3 }, 'is not known here; known: concurrency, rate, per'],
    [{}, 'say what limit'],
    [[], 'must be a JSON object'],
  ])('are not set to what makes no limit: %j', async (numbers, message) => {
    await using it = await open()
    await it.local.result((await it.local.start(ask, undefined)).runId)
    const name = 'rate' in numbers ? 'openai' : 'order:concurrency'
    const { status, body } = await it.send('PUT', `/limits/${name}`, numbers)
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(message)])
    expect(await it.local.limits.get(name)).toMatchObject({ isSet: false })
  })

  it('are the same for the client as in process, refusals too', async () => {
    await using it = await open()
    const { client, local } = it
    expect(await client.limits.list()).toEqual(await local.limits.list())
    expect(await client.limits.set('order:concurrency', { concurrency: 3 })).toEqual(
      await local.limits.get('order:concurrency'),
    )
    expect(await client.limits.pause('order:concurrency')).toMatchObject({ paused: true })
    expect(await client.limits.resume('order:concurrency')).toMatchObject({ paused: false })
    expect(await client.limits.reset('order:concurrency')).toEqual(await local.limits.get('order:concurrency'))
    await expect(client.limits.get('nothing')).rejects.toThrow(LimitNotFoundError)
    await expect(client.limits.get('nothing')).rejects.toThrow('known: order:concurrency')
    await expect(client.limits.set('order:concurrency', { concurrency: 0 })).rejects.toThrow(InvalidInputError)
  })
})

it('a run that a rate has promised its start is shown with it', async () => {
  const mail = workflow('mail', { rateLimit: { limit: 1, per: '1d' } }, async () => 'sent')
  await using local = await Local.open({ path: ':memory:', workflows: [mail], log: () => {} })
  const app = createApp({ client: local })
  for (const id of ['m1', 'm2']) await local.start(mail, undefined, { id })
  const { body } = await read(await app.request('/runs/m2'))
  expect(body).toMatchObject({
    status: 'pending',
    queue: { limit: 'mail:rate', place: { count: 1 }, expectedAt: body.wakeAt, paused: false },
  })
})

it('a step that waits at a limit is shown with it, and in its line', async () => {
  await using it = await open()
  await (await it.local.start(ask, undefined)).result()
  await it.local.start(ask, undefined, { id: 'later' })
  await expect
    .poll(async () => (await it.send('GET', '/runs/later')).body.waitingFor)
    .toMatchObject([{ kind: 'limit', on: 'openai' }])
})

describe('pauses over HTTP', () => {
  it('hold new runs back until they are resumed, at a rate', async () => {
    await using it = await open()
    expect((await it.send('GET', '/pauses')).body).toEqual({ pauses: [] })
    expect(await it.send('POST', '/pauses', { workflow: 'ask' })).toMatchObject({
      status: 200,
      body: { scope: { workflow: 'ask' }, since: expect.stringMatching(/Z$/) },
    })
    await it.local.start(ask, undefined, { id: 'held' })
    await expect
      .poll(async () => (await it.send('GET', '/runs/held')).body.queue)
      .toMatchObject({ limit: 'pause:workflow:ask', paused: true })
    expect((await it.send('GET', '/pauses')).body.pauses).toMatchObject([
      { scope: { workflow: 'ask' }, waiting: { count: 1 } },
    ])
    expect(await it.client.pauses()).toEqual(await it.local.pauses())
    expect((await it.send('POST', '/pauses/resume', { workflow: 'ask', perSecond: 20 })).body).toMatchObject({
      perSecond: 20,
    })
    await expect.poll(async () => (await it.local.get('held')).status).toBe('completed')
  })

  it.each([
    [{}],
    [undefined],
    [{ all: false }],
    [{ all: 'yes' }],
    [{ all: true, workflow: 'ask' }],
    [{ workflow: '' }],
    [{ workflow: 7 }],
    [{ run: 'no/run' }],
    [{ everything: true }],
  ])('are not made unless it is clear of what: %j', async (scope) => {
    await using it = await open()
    expect((await it.send('POST', '/pauses', scope)).status).toBe(400)
    expect((await it.send('POST', '/pauses/resume', scope)).status).toBe(400)
    expect(await it.local.pauses()).toEqual([])
  })

  it('of what is not known, or of a run that has ended, are refused with the reason; that of a run goes with the run', async () => {
    await using it = await open()
    expect(await it.send('POST', '/pauses', { run: 'nope' })).toMatchObject({
      status: 404,
      body: { type: expect.stringContaining('unknown-run') },
    })
    expect(await it.send('POST', '/pauses', { workflow: 'nope' })).toMatchObject({
      status: 404,
      body: { type: expect.stringContaining('unknown-workflow') },
    })
    await it.local.start(order, { tenant: 'a' }, { id: 'late' })
    expect((await it.send('POST', '/pauses', { run: 'late' })).status).toBe(200)
    expect(await it.local.pauses()).toMatchObject([{ scope: { run: 'late' } }])
    await it.local.terminate('late')
    expect(await it.local.pauses()).toEqual([])
    expect(await it.send('POST', '/pauses', { run: 'late' })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('has ended') },
    })
  })

  it('that are not there cannot be resumed, nor those that are at a rate that is none', async () => {
    await using it = await open()
    expect((await it.send('POST', '/pauses/resume', { all: true })).status).toBe(409)
    await it.send('POST', '/pauses', { all: true })
    for (const perSecond of [0, 0.5, 1_001, '20', null])
      expect([perSecond, (await it.send('POST', '/pauses/resume', { all: true, perSecond })).status]).toEqual([
        perSecond,
        400,
      ])
    expect(await it.local.pauses()).toEqual([
      { scope: { all: true }, since: expect.any(Number), waiting: { count: 0 } },
    ])
  })

  it('are the same for the client as in process, refusals too', async () => {
    await using it = await open()
    const { client, local } = it
    await expect(client.resume({ all: true })).rejects.toThrow(ConflictError)
    const made = await client.pause({ run: 'a2' })
    expect(await local.pauses()).toEqual([{ ...made, waiting: { count: 0 } }])
    expect(await client.pauses()).toEqual(await local.pauses())
    expect(await client.resume({ run: 'a2' }, { perSecond: 5 })).toMatchObject({ scope: { run: 'a2' }, perSecond: 5 })
  })

  it('a start that made no run says so: beside a singleton that is there, and one more of a batch', async () => {
    const once = workflow(
      'once',
      { singleton: { key: () => 'k', onConflict: 'skip' } },
      async (ctx) => void (await ctx.waitFor(go)),
    )
    const bill = workflow('bill', { batch: { size: 5, wait: '1h' } }, async (_, list: number[]) => list)
    await using local = await Local.open({ path: ':memory:', workflows: [once, bill], log: () => {} })
    const app = createApp({ client: local })
    const client = new OverwinterClient({
      url: 'http://here',
      fetch: async (input, init) => app.request(new Request(input, init)),
    })
    for (const [flow, input] of [
      ['once', undefined],
      ['bill', 1],
    ] as const) {
      const first = await client.start(flow, input)
      expect(first.created).toBe(true)
      expect(await client.start(flow, input)).toMatchObject({ runId: first.runId, created: false })
    }
  })
})
