import { describe, expect, it } from 'vitest'
import { ROUTES } from '../../functions/http/app.ts'
import { bearer } from '../../functions/http/bearer.ts'
import { OverwinterClient } from '../../sdk/http-client/index.ts'
import { Local } from '../../sdk/local.ts'
import type { NewToken } from '../../sdk/tasks/tokens.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { Api, approval, order, read, sleeper } from './fixture.ts'

const MASTER = 'the-whole-api'

/** An API behind a token, and requests with another one. */
async function guarded() {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const local = await Local.open({ path: ':memory:', workflows: [order, approval, sleeper], clock, log: () => {} })
  const api = new Api(local, { authorize: bearer(MASTER) })
  const send = async (token: string, method: string, path: string, body?: unknown) => {
    const init = {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
    return read(await api.app.request(path, init))
  }
  const make = async (terms: Omit<NewToken, 'name'> & Record<string, unknown>) => {
    const { status, body } = await send(MASTER, 'POST', '/v1/tokens', { name: 'a token', ...terms })
    expect(status).toBe(201)
    return { token: body.token as string, id: body.id as string }
  }
  return { api, clock, send, make, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() }
}

/** A request to each route, and what it needs. */
const REQUESTS = ROUTES.filter(({ isOpen, isCapability }) => !isOpen && !isCapability).map(
  ({ method, path, needs }) => ({
    method,
    // A request waits for a reply, and this clock stands still.
    path: path.replace('{id}', path.includes('/requests/') ? 'nobody' : 'r1').replace('{name}', 'sleeper'),
    needs,
  }),
)

describe('a token with scopes', () => {
  it.each(['start', 'read', 'operate', 'settle'] as const)(
    'opens what its scope says, and nothing else: %s',
    async (scope) => {
      await using it = await guarded()
      await it.api.local.start('sleeper', undefined, { id: 'r1' })
      const { token } = await it.make({ scopes: [scope] })
      for (const { method, path, needs } of REQUESTS) {
        const { status } = await it.send(token, method, path)
        if (needs === scope) expect([path, status]).not.toEqual([path, 403])
        else expect([method, path, status]).toEqual([method, path, 403])
        expect(status).not.toBe(401)
      }
    },
  )

  it('opens no more than the workflows it was made for', async () => {
    await using it = await guarded()
    await it.api.local.start('sleeper', undefined, { id: 'mine' })
    await it.api.local.start('approval', undefined, { id: 'theirs' })
    const { token } = await it.make({ scopes: ['start', 'read', 'operate'], workflows: ['sleeper'] })
    const status = async (method: string, path: string) => (await it.send(token, method, path)).status
    expect(await status('POST', '/workflows/sleeper/runs')).toBe(201)
    expect(await status('POST', '/workflows/approval/runs')).toBe(403)
    expect(await status('GET', '/runs/mine')).toBe(200)
    expect(await status('GET', '/runs?workflow=sleeper')).toBe(200)
    expect(await status('POST', '/runs/mine/cancel')).toBe(202)
    for (const path of ['/runs', '/runs?workflow=approval', '/workflows', '/schedules', '/definitions', '/v1/workers'])
      expect([path, await status('GET', path)]).toEqual([path, 403])
    expect(await status('GET', '/callbacks?run=mine')).toBe(200)
    for (const path of [
      '/callbacks',
      '/callbacks?run=theirs',
      '/callbacks?run=nobody',
      '/callbacks?run=theirs&run=mine',
      '/runs/theirs/callbacks',
    ])
      expect([path, await status('GET', path)]).toEqual([path, 403])
    expect(await status('POST', '/runs/theirs/cancel')).toBe(403)
    expect((await it.api.local.get('theirs')).status).not.toBe('cancelled')
  })

  it('does not tell a run of others from one that is not there', async () => {
    await using it = await guarded()
    await it.api.local.start('approval', undefined, { id: 'theirs' })
    const { token } = await it.make({ scopes: ['read'], workflows: ['sleeper'] })
    const [theirs, nobodys] = [await it.send(token, 'GET', '/runs/theirs'), await it.send(token, 'GET', '/runs/nobody')]
    expect(theirs.status).toBe(403)
    expect(JSON.stringify(theirs.body).replace('theirs', 'nobody')).toBe(JSON.stringify(nobodys.body))
  })

  it('that is wrong, expired, revoked or for work is refused as any wrong one is', async () => {
    await using it = await guarded()
    const revoked = await it.make({ scopes: ['read'] })
    await it.send(MASTER, 'DELETE', `/v1/tokens/${revoked.id}`)
    const expired = await it.make({ scopes: ['read'], expires_in: '1h' })
    it.clock.moveTo(it.clock.now() + 3_600_000)
    const wrong = await it.send('nonsense', 'GET', '/runs')
    expect(wrong.status).toBe(401)
    for (const token of [revoked.token, expired.token, `${revoked.token}x`, 'owt_0_x'])
      expect(await it.send(token, 'GET', '/runs')).toMatchObject({ status: 401, body: wrong.body })
    const { token } = await it.make({})
    expect((await it.send(token, 'GET', '/runs')).status).toBe(403)
    const { token: reader } = await it.make({ scopes: ['read'] })
    expect(
      (await it.send(reader, 'POST', '/v1/tasks/poll', { task_types: ['llm'], max_tasks: 1, timeout_ms: 0 })).status,
    ).toBe(401)
  })

  it('cannot make tokens, nor see them', async () => {
    await using it = await guarded()
    const { token } = await it.make({ scopes: ['start', 'read', 'operate', 'settle'] })
    expect((await it.send(token, 'POST', '/v1/tokens', { name: 'more', scopes: ['operate'] })).status).toBe(403)
    expect((await it.send(token, 'GET', '/v1/tokens')).status).toBe(403)
  })

  it.each([
    [{ scopes: ['admin'] }, "'admin' is no scope; known: start, read, operate, settle, work"],
    [{ scopes: ['toString'] }, "'toString' is no scope"],
    [{ scopes: [] }, 'must be a list of start'],
    [{ scopes: 'read' }, 'must be a list of start'],
    [{ scopes: ['read'], task_types: ['llm'] }, "for tokens with the scope 'work'"],
    [{ workflows: ['order'] }, 'told apart by their types'],
    [{ scopes: ['start'], workflows: [] }, 'must be a list of workflows'],
    [{ scopes: ['start'], workflows: [''] }, 'must not be empty'],
  ])('is not made of terms that make no sense: %j', async (terms, message) => {
    await using it = await guarded()
    const { status, body } = await it.send(MASTER, 'POST', '/v1/tokens', { name: 'x', ...terms })
    expect([status, JSON.stringify(body.problems)]).toEqual([400, expect.stringContaining(message)])
    expect((await it.send(MASTER, 'GET', '/v1/tokens')).body.tokens).toEqual([])
  })

  it('is made and listed by the client, with what it is good for', async () => {
    await using it = await guarded()
    const fetch = ((url: string, init: RequestInit) => it.api.app.request(url, init)) as typeof globalThis.fetch
    const client = new OverwinterClient({ url: 'http://localhost', token: MASTER, fetch })
    const { token } = await client.createToken({
      name: 'shop',
      scopes: ['read', 'start'],
      workflows: ['order'],
      expiresIn: '30d',
    })
    expect(await client.listTokens()).toMatchObject([
      { name: 'shop', scopes: ['start', 'read'], workflows: ['order'], state: 'valid' },
    ])
    const shop = new OverwinterClient({ url: 'http://localhost', token, fetch })
    const { runId } = await shop.start('order', { id: 'o', cents: 1 })
    expect(await shop.result(runId)).toBe(2)
    await expect(shop.cancel(runId)).rejects.toThrow(/this token does not allow/)
  })
})
