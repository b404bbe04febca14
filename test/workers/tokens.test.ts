import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { read } from '../http/fixture.ts'
import { TOKEN, WorkerApi } from './fixture.ts'

async function create(api: WorkerApi, body: Record<string, unknown>) {
  const answer = await read(await api.post('/v1/tokens', body))
  expect(answer.status).toBe(201)
  return answer.body as { id: string; token: string }
}

const EVERYWHERE = [
  ['/v1/tasks/poll', { task_types: ['llm'], max_tasks: 1, timeout_ms: 0 }],
  ['/v1/tasks/a.b/resolve', { action: 'complete' }],
  ['/v1/workers/connect', { worker_id: 'w', task_types: ['llm'], max_tasks: 1 }],
] as const

describe("workers' tokens", () => {
  it('are asked for by everything that workers use, and a missing or wrong one is a 401', async () => {
    await using api = await WorkerApi.open()
    const { token } = await create(api, { name: 'one' })
    for (const [path, body] of EVERYWHERE) {
      for (const wrong of ['', 'x', `${TOKEN}x`, `${token}x`, token.slice(0, -1), `owt_${'0'.repeat(32)}_x`]) {
        const refused = await api.post(path, body, { token: wrong })
        expect([path, wrong, refused.status]).toEqual([path, wrong, 401])
        expect(refused.headers.get('www-authenticate')).toBe('Bearer')
      }
      const let_in = await api.post(path, body, { token })
      expect([200, 404]).toContain(let_in.status)
      await let_in.body?.cancel()
    }
  })

  it('are shown once, when they are made; the list has neither them nor what they hash to', async () => {
    await using api = await WorkerApi.open()
    const made = await create(api, { name: 'farm', task_types: ['llm', 'http'], expires_in: '90d' })
    const { body } = await api.get('/v1/tokens')
    const view = {
      id: made.id,
      name: 'farm',
      scopes: ['work'],
      task_types: ['llm', 'http'],
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-04-01T00:00:00.000Z',
      state: 'valid',
    }
    expect(body).toEqual({ tokens: [view] })
    expect(made).toEqual({ ...view, token: expect.stringMatching(/^owt_/) })
  })

  it('expire when they were told to', async () => {
    await using api = await WorkerApi.open()
    const { token } = await create(api, { name: 'brief', expires_in: '1h' })
    await api.pass(3_599_999)
    expect((await api.poll({}, { token })).status).toBe(200)
    await api.pass(1)
    expect((await api.poll({}, { token })).status).toBe(401)
    expect((await api.get('/v1/tokens')).body.tokens).toMatchObject([{ state: 'expired' }])
  })

  it('open nothing any more once they are revoked, which may be said twice; one that was never there cannot be', async () => {
    await using api = await WorkerApi.open()
    const { id, token } = await create(api, { name: 'stolen' })
    for (let i = 0; i < 2; i++)
      expect((await api.app.request(`/v1/tokens/${id}`, { method: 'DELETE' })).status).toBe(204)
    expect((await api.poll({}, { token })).status).toBe(401)
    expect((await api.get('/v1/tokens')).body.tokens).toMatchObject([{ state: 'revoked' }])
    expect((await api.app.request('/v1/tokens/none', { method: 'DELETE' })).status).toBe(404)
  })

  it('are good for the types they were made for: others are a 403, and nothing happens to the task', async () => {
    await using api = await WorkerApi.open()
    const { token } = await create(api, { name: 'mail only', task_types: ['mail'] })
    const id = await api.taken('run-1')
    const before = await api.snapshot(id)
    expect((await api.poll({ task_types: ['mail'] }, { token })).status).toBe(200)
    const mixed = await api.poll({ task_types: ['mail', 'llm'] }, { token })
    expect(mixed).toMatchObject({ status: 403, body: { detail: "this token is not good for tasks of type 'llm'" } })
    expect((await api.resolve(id, { action: 'complete', output: 1 }, { token })).status).toBe(403)
    expect(
      (await api.post('/v1/workers/connect', { worker_id: 'w', task_types: ['llm'], max_tasks: 1 }, { token })).status,
    ).toBe(403)
    expect(await api.snapshot(id)).toBe(before)
  })

  it('that are asked for wrongly are not made, and everything wrong is told', async () => {
    await using api = await WorkerApi.open()
    const refused = await read(await api.post('/v1/tokens', { name: '', task_types: [], expires_in: 'soon', more: 1 }))
    expect(refused.status).toBe(400)
    expect(refused.body.problems.map(({ path }: { path: string }) => path)).toEqual([
      '$.more',
      '$.name',
      '$.task_types',
      '$.expires_in',
    ])
    expect((await api.get('/v1/tokens')).body.tokens).toEqual([])
  })

  it('are in the database as SHA-256 and in no other form', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'overwinter-tokens-'))
    try {
      const api = await WorkerApi.open({ path: join(folder, 'runs.db') })
      const { token } = await create(api, { name: 'kept' })
      expect((await api.poll({}, { token })).status).toBe(200)
      const files = () => readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'))
      const inTheLog = files()
      await api.local.close(0)
      const secret = token.split('_')[2]!
      for (const text of [...inTheLog, ...files()]) {
        expect(text).not.toContain(secret)
        expect(text).not.toContain(TOKEN)
      }
      const digest = createHash('sha256').update(token).digest('hex')
      expect(files().some((text) => text.includes(digest))).toBe(true)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('are never logged, not even when a request fails with an unexpected error', async () => {
    const api = await WorkerApi.open()
    const { token } = await create(api, { name: 'quiet' })
    await api.poll({}, { token })
    await api.poll({}, { token: `${token}x` })
    await api.local.close(0)
    expect((await api.poll({}, { token })).status).toBe(500)
    expect(api.logs).not.toEqual([])
    expect(api.logs.join('\n')).not.toContain(token.split('_')[2]!)
  })
})
