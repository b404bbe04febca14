import { describe, expect, it } from 'vitest'
import { bearer } from '../../functions/http/bearer.ts'
import { childRunId, keyedRunId, scheduleRunId } from '../../sdk/base/names.ts'
import { schedule, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { Api, read } from './fixture.ts'

const MASTER = 'the-whole-api'
const MIDNIGHT = Date.parse('2026-01-01T00:00:00Z')

/** An API with a schedule for `payroll`, and a token that opens nothing but the workflow `form`. */
async function open() {
  const paid: string[] = []
  const payroll = workflow('payroll', async (ctx) => ctx.step('pay', async () => void paid.push(ctx.info.runId)))
  const form = workflow('form', async (ctx) => ctx.step('save', async () => 'saved'))
  const family = workflow('family', async (ctx) => ctx.run(payroll, undefined))
  const clock = new VirtualClock(MIDNIGHT)
  const schedules = [schedule('payroll', { cron: '0 2 * * *' }, payroll, undefined)]
  const local = await Local.open({
    path: ':memory:',
    workflows: [form, payroll, family],
    schedules,
    clock,
    log: () => {},
  })
  const api = new Api(local, { authorize: bearer(MASTER) })
  const send = async (token: string, path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
    read(
      await api.app.request(path, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, ...headers },
        body: JSON.stringify(body),
      }),
    )
  const { body } = await send(MASTER, '/v1/tokens', {
    name: 'web form',
    scopes: ['start', 'read', 'operate'],
    workflows: ['form'],
  })
  const narrow = body.token as string
  return {
    api,
    local,
    clock,
    paid,
    start: (token: string, id: string, to = 'form') => send(token, `/workflows/${to}/runs`, { id }),
    rerun: (token: string, run: string, id: string) => send(token, `/runs/${run}/rerun`, { from: 'save', id }),
    narrow,
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  }
}

const passing = async (times = 200) => {
  for (let i = 0; i < times; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('an id that a request chooses for a run', () => {
  it('is not that of a schedule, of a run that one will start, or of a run for a failure; so the run of that night happens', async () => {
    await using it = await open()
    const next = `${scheduleRunId('payroll', 1)}.2026-01-01T02-00-00.000Z`
    await it.start(MASTER, 'mine')
    await it.local.result('mine')
    for (const token of [MASTER, it.narrow])
      for (const id of [next, 'schedule.later', 'failure~x']) {
        const { status, body } = await it.start(token, id)
        expect([id, status, body.problems]).toEqual([
          id,
          400,
          [{ path: '$.id', message: expect.stringContaining('is reserved for schedules') }],
        ])
        expect((await it.rerun(token, 'mine', id)).status).toBe(400)
      }
    it.clock.moveTo(MIDNIGHT + 2 * 3_600_000)
    await passing()
    expect(it.paid).toEqual([next])
  })

  it('may look odd otherwise', async () => {
    await using it = await open()
    for (const id of [
      'ada@example.com',
      'invoice.2026.11',
      'schedule',
      'schedules.1',
      'failure-1',
      'a~b',
      'k1',
      'x'.repeat(200),
    ])
      for (const token of [it.narrow, MASTER])
        expect([id, (await it.start(token, id)).status]).toEqual([id, token === MASTER ? 200 : 201])
  })
})

describe('a token for some workflows', () => {
  it('cannot take the id of a child that a run of another workflow will start, nor one that is made of a key', async () => {
    await using it = await open()
    const parent = { format: 2, generation: 0 } as const
    await it.start(MASTER, 'family-1', 'family')
    await it.start(MASTER, 'mine')
    const ids = [
      childRunId({ ...parent, id: 'family-1' }, 'later'),
      childRunId({ ...parent, id: 'family-1' }, 'with a space'),
      childRunId({ ...parent, id: 'family-1', generation: 2 }, 'later', 1),
      childRunId({ ...parent, id: 'y'.repeat(190) }, 'x'.repeat(30)),
      'family-1.later.grandchild',
      'family-1~r1',
      keyedRunId('payroll\nthe-key-of-tonight'),
    ]
    for (const id of ids) {
      expect([id, (await it.start(it.narrow, id)).status]).toEqual([id, 403])
      expect([id, (await it.rerun(it.narrow, 'mine', id)).status]).toEqual([id, 403])
    }
    // Below runs of its own it may.
    expect((await it.start(it.narrow, 'mine.later')).status).toBe(201)
  })

  it("gets the same answer for a foreign run's id as for one that it cannot take for other reasons, and learns nothing of the run", async () => {
    await using it = await open()
    await it.start(MASTER, 'theirs', 'payroll')
    await it.start(MASTER, 'mine')
    await it.local.result('mine')
    const reserved = keyedRunId('of a key')
    for (const ask of [it.start, (token: string, id: string) => it.rerun(token, 'mine', id)]) {
      const [theirs, derived] = [await ask(it.narrow, 'theirs'), await ask(it.narrow, reserved)]
      expect(theirs.status).toBe(403)
      expect(JSON.stringify(theirs.body).replace('theirs', reserved)).toBe(JSON.stringify(derived.body))
      expect(JSON.stringify(theirs.body)).not.toContain('payroll')
    }
    // Of its own workflow it is told, as everyone is.
    expect((await it.start(it.narrow, 'mine')).status).toBe(200)
    expect((await it.rerun(it.narrow, 'mine', 'mine')).status).toBe(409)
  })
})
