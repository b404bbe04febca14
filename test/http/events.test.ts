import { describe, expect, it } from 'vitest'
import { ROUTES } from '../../functions/http/app.ts'
import { bearer } from '../../functions/http/bearer.ts'
import { createApp } from './by-the-document.ts'
import { Api, approval } from './fixture.ts'

const placed = { id: 'e-1', time: '2026-01-01T00:00:00Z', detail: { id: 'o-1', cents: 5 } }

describe('POST /events', () => {
  it('starts a run by a mapping of the code, and finds it when the event comes again', async () => {
    await using api = await Api.open()
    const first = await api.post('/events', { mapping: 'order-placed', event: placed })
    expect(first).toMatchObject({ status: 201, body: { kind: 'start', runId: 'o-1', created: true } })
    expect(first.headers.get('location')).toBe('/runs/o-1')
    expect(await api.post('/events', { mapping: 'order-placed', event: placed })).toMatchObject({
      status: 200,
      body: { runId: 'o-1', created: false },
    })
  })

  it('signals and cancels, and says so', async () => {
    await using api = await Api.open()
    await api.local.start(approval, undefined, { id: 'a-1' })
    const approve = { mapping: 'order-approved', event: { id: 'e-2', detail: { id: 'a-1', by: 'Ada' } } }
    expect(await api.post('/events', approve)).toMatchObject({
      status: 200,
      body: { kind: 'signal', runId: 'a-1', accepted: true },
    })
    await api.reaches('a-1', 'completed')
    expect(
      await api.post('/events', { mapping: 'order-withdrawn', event: { id: 'e-3', detail: { id: 'a-1' } } }),
    ).toMatchObject({
      status: 409,
      body: { detail: "run 'a-1' has already ended (completed)" },
    })
  })

  it('takes a mapping that comes along, and says all that is wrong with it', async () => {
    await using api = await Api.open()
    const mapping = { kind: 'start', workflow: 'order', input: 'detail' }
    expect(await api.post('/events', { mapping, event: placed })).toMatchObject({
      status: 201,
      body: { kind: 'start' },
    })
    expect(await api.post('/events', { mapping: { kind: 'signal', runId: '$(' }, event: placed })).toMatchObject({
      status: 400,
      body: {
        problems: [
          { path: '$.mapping.signal', message: 'is missing' },
          { path: '$.mapping.runId', message: expect.stringContaining('cannot be evaluated as JSONata') },
        ],
      },
    })
  })

  it.each([
    [
      { mapping: 'order-shipped', event: placed },
      404,
      'unknown-mapping',
      'known: order-placed, order-approved, order-withdrawn',
    ],
    [
      { mapping: { kind: 'start', workflow: 'nobody' }, event: placed },
      404,
      'unknown-workflow',
      "no workflow is named 'nobody'",
    ],
    [{ mapping: 'order-withdrawn', event: placed }, 404, 'unknown-run', "no run 'o-1'"],
    [
      { mapping: 'order-placed', event: { id: 'e', detail: { cents: 1 } } },
      400,
      'invalid-input',
      "mapping 'order-placed': id gave nothing for this event",
    ],
    [
      { mapping: 'order-placed', event: { id: 'e', detail: { id: 'o-2' } } },
      400,
      'invalid-input',
      "the input of workflow 'order' does not fit its schema",
    ],
    [{ mapping: 'order-placed', event: 'text' }, 400, 'invalid-input', 'see problems'],
    [{ mapping: 7, event: {} }, 400, 'invalid-input', 'see problems'],
    [{ mapping: 'order-placed', event: placed, id: 'x' }, 400, 'invalid-input', 'see problems'],
  ])('refuses %j with %i %s', async (body, status, kind, detail) => {
    await using api = await Api.open()
    const answer = await api.post('/events', body)
    expect(answer).toMatchObject({
      status,
      body: { type: expect.stringMatching(new RegExp(`${kind}$`)), detail: expect.stringContaining(detail) },
    })
    expect((await api.local.list()).runs).toEqual([])
  })

  it('is not for tokens with scopes', async () => {
    await using api = await Api.open({ authorize: bearer('master') })
    const { body } = await api.post(
      '/v1/tokens',
      { name: 't', scopes: ['start', 'read', 'operate'] },
      { authorization: 'Bearer master' },
    )
    const post = (token: string) =>
      api.post('/events', { mapping: 'order-placed', event: placed }, { authorization: `Bearer ${token}` })
    expect(await post(body.token)).toMatchObject({ status: 403 })
    expect(await post('master')).toMatchObject({ status: 201 })
  })

  it('is there in the local server only', async () => {
    await using api = await Api.open()
    expect(ROUTES.map(({ path }) => path)).not.toContain('/events')
    const onAws = createApp({ client: api.local, withoutWorkers: true })
    expect((await onAws.request('/events', { method: 'POST' })).status).toBe(404)
  })
})
