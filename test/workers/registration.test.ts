import { describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { Worker } from '../../sdk/worker/index.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { ask, TOKEN, until, WorkerApi } from './fixture.ts'

const REGISTRATION = {
  worker_id: 'worker-123',
  task_types: ['llm', 'http'],
  language: 'python',
  transport: 'bridge',
  max_tasks: 2,
  metadata: { version: '1.0.0' },
}

const workers = async (api: WorkerApi) => (await api.get('/v1/workers')).body.workers
const ids = async (api: WorkerApi) => (await workers(api)).map((worker: { worker_id: string }) => worker.worker_id)

/** A connection as a worker holds it. */
async function connect(api: WorkerApi, registration: Record<string, unknown> = REGISTRATION) {
  const gone = new AbortController()
  const response = await api.post('/v1/workers/connect', registration, {}, gone.signal)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  return { response, next: async () => (await reader.read()).value, hangUp: () => gone.abort() }
}

describe('connect', () => {
  it('is a stream of heartbeats, one at once and then every 25 s', async () => {
    await using api = await WorkerApi.open()
    const { response, next } = await connect(api)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect(await next()).toBe('event: heartbeat\ndata: {"at":"2026-01-01T00:00:00.000Z"}\n\n')
    let isThere = false
    const second = next().finally(() => (isThere = true))
    await api.pass(24_999)
    expect(isThere).toBe(false)
    await api.pass(1)
    expect(await second).toContain('00:00:25')
    await api.pass(25_000)
    expect(await next()).toContain('00:00:50')
  })

  it('shows the worker for as long as it lasts, with language, transport, types and load', async () => {
    await using api = await WorkerApi.open()
    const { hangUp } = await connect(api)
    expect(await workers(api)).toEqual([{ ...REGISTRATION, load: 0, last_seen: '2026-01-01T00:00:00.000Z' }])
    await api.pass(10 * 60_000)
    expect(await workers(api)).toEqual([{ ...REGISTRATION, load: 0, last_seen: '2026-01-01T00:10:00.000Z' }])
    hangUp()
    await until(async () => (await ids(api)).length === 0)
  })

  it('takes what the protocol asks for and no more: the rest has a default', async () => {
    await using api = await WorkerApi.open()
    await connect(api, { worker_id: 'w', task_types: ['llm'], max_tasks: 1 })
    expect(await workers(api)).toMatchObject([{ language: 'unknown', transport: 'bridge' }])
  })

  it('anew, before the old connection is known to be dead, survives the end of the old one', async () => {
    await using api = await WorkerApi.open()
    const old = await connect(api)
    await api.pass(1_000)
    await connect(api)
    old.hangUp()
    await api.pass(0)
    expect(await workers(api)).toMatchObject([{ worker_id: 'worker-123', language: 'python' }])
  })
})

describe('the list of workers', () => {
  it('shows a worker as it registered, also when that happens in the middle of one of its polls', async () => {
    await using api = await WorkerApi.open()
    const { documents } = api.local.world
    const get = documents.get.bind(documents)
    documents.get = async (collection, key) => {
      const found = await get(collection, key)
      documents.get = get
      await connect(api)
      return found
    }
    await api.poll({ worker_id: 'worker-123', in_hand: 0 })
    expect(await workers(api)).toMatchObject([{ language: 'python', max_tasks: 2 }])
  })

  it('has a worker that polls under its name, and no more after 60 s of silence', async () => {
    await using api = await WorkerApi.open()
    await api.poll({ worker_id: 'poller' })
    await api.pass(59_999)
    expect(await ids(api)).toEqual(['poller'])
    await api.pass(1)
    expect(await ids(api)).toEqual([])
  })

  it('tells what a worker has in hand, as it says itself', async () => {
    await using api = await WorkerApi.open()
    await connect(api, { ...REGISTRATION, max_tasks: 8 })
    await api.asked('a')
    await api.asked('b')
    const loadAfter = async (inHand: number) => {
      await api.poll({ worker_id: 'worker-123', max_tasks: 1, in_hand: inHand })
      return (await workers(api))[0].load
    }
    expect([await loadAfter(0), await loadAfter(1), await loadAfter(0)]).toEqual([1, 2, 0])
  })

  it('tells it from the hands that are free, where a worker does not say', async () => {
    await using api = await WorkerApi.open()
    await connect(api)
    await api.asked('a')
    await api.poll({ worker_id: 'worker-123', max_tasks: 2 })
    expect(await workers(api)).toMatchObject([{ load: 1 }])
    await api.poll({ worker_id: 'worker-123', max_tasks: 1 })
    expect(await workers(api)).toMatchObject([{ load: 1 }])
  })
})

describe('over a real connection', () => {
  it('a worker that dies, its connection and its poll with it, is gone from the list', async () => {
    await using server = await serveLocal({
      path: ':memory:',
      workflows: [ask],
      port: 0,
      workerToken: TOKEN,
      log: () => {},
    })
    const died = new AbortController()
    const send = (path: string, body: unknown) =>
      fetch(server.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}` },
        body: JSON.stringify(body),
        signal: died.signal,
      })
    const listed = async () =>
      ((await (await fetch(`${server.url}/v1/workers`)).json()) as { workers: unknown[] }).workers.length
    await send('/v1/workers/connect', REGISTRATION)
    const poll = send('/v1/tasks/poll', {
      task_types: ['llm'],
      max_tasks: 1,
      timeout_ms: 60_000,
      worker_id: 'worker-123',
    })
    await until(async () => (await listed()) === 1)
    died.abort()
    await expect(poll).rejects.toThrow()
    await until(async () => (await listed()) === 0)
    // What its poll leaves behind must not bring it back.
    await server.local.start(ask, {})
    await fetch(`${server.url}/healthz`)
    expect(await listed()).toBe(0)
  })
})

it('a worker in TypeScript that is refused says why, and does not end its process', async () => {
  await using server = await serveLocal({
    path: ':memory:',
    workflows: [workflow('w', async () => 1)],
    port: 0,
    workerToken: 'right',
    log: () => {},
  })
  const worker = new Worker({ url: server.url, token: 'wrong', tasks: { chore: async () => 1 }, log: () => {} })
  await expect(worker.done).rejects.toThrow(/token/i)
})
