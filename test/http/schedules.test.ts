import { describe, expect, it } from 'vitest'
import { ConflictError, InvalidInputError, OverwinterClient, RunNotFoundError } from '../../sdk/http-client/index.ts'
import { type Schedule, Schedules, schedule, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { createApp } from './by-the-document.ts'

const report = workflow('report', async () => 'done')

const nightly = schedule('nightly', { cron: '0 2 * * *' }, report, undefined)

async function open(schedules: Schedule[] = [nightly]) {
  const local = await Local.open({ path: ':memory:', workflows: [], schedules, log: () => {} })
  const app = createApp({ client: local })
  const post = (path: string, headers?: Record<string, string>) => app.request(path, { method: 'POST', headers })
  const shown = async () =>
    ((await (await app.request('/schedules')).json()) as { schedules: Record<string, unknown>[] }).schedules
  const client = new OverwinterClient({
    url: 'http://here',
    fetch: async (input, init) => app.request(new Request(input, init)),
  })
  return { local, app, post, shown, remote: new Schedules(client) }
}

describe('schedules over HTTP', () => {
  it('are listed with when they are due next', async () => {
    const { local, shown } = await open()
    await expect.poll(shown).toMatchObject([
      {
        name: 'nightly',
        workflow: 'report',
        cron: '0 2 * * *',
        isPaused: false,
        nextDue: expect.stringMatching(/T02:00:00\.000Z$/),
      },
    ])
    await local.close()
  })

  it('are paused, resumed, and triggered once per key', async () => {
    const { local, post, shown } = await open()
    expect((await post('/schedules/nightly/pause')).status).toBe(202)
    await expect.poll(shown).toMatchObject([{ isPaused: true }])
    expect((await post('/schedules/nightly/resume')).status).toBe(202)
    await expect.poll(shown).toMatchObject([{ isPaused: false }])
    for (let i = 0; i < 2; i++)
      expect((await post('/schedules/nightly/trigger', { 'idempotency-key': 'once' })).status).toBe(202)
    await expect.poll(shown).toMatchObject([{ started: 1 }])
    expect((await local.list({ workflow: 'report' })).runs).toHaveLength(1)
    await local.close()
  })

  it('that do not exist are a 404 that names those that do', async () => {
    const { local, post } = await open()
    const response = await post('/schedules/weekly/pause')
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({
      type: expect.stringContaining('unknown-schedule'),
      detail: expect.stringContaining('known: nightly'),
    })
    await local.close()
  })

  it('say what went wrong with the last run, and when', async () => {
    const broken = workflow('broken', async () => {
      throw new Error('out of paper')
    })
    const { local, post, shown, remote } = await open([schedule('weekly', { every: '7d' }, broken, undefined)])
    expect((await shown())[0]).not.toHaveProperty('lastError')
    await post('/schedules/weekly/trigger')
    await expect
      .poll(shown)
      .toMatchObject([
        { lastError: { at: expect.stringMatching(/^\d{4}-.*Z$/), message: expect.stringContaining('out of paper') } },
      ])
    expect(await remote.list()).toEqual(await local.schedules.list())
    await local.close()
  })

  it('whose own run has ended are a 409 until the next sync', async () => {
    const { local, post, remote } = await open()
    await local.terminate('schedule.nightly')
    expect((await post('/schedules/nightly/pause')).status).toBe(409)
    await expect(remote.pause('nightly')).rejects.toThrow(ConflictError)
    await local.schedules.sync([nightly])
    expect((await post('/schedules/nightly/pause')).status).toBe(202)
    await local.close()
  })
})

describe('the HTTP client', () => {
  it('lists and steers schedules as the in-process one does, whatever their names', async () => {
    const { local, remote } = await open([nightly, schedule('a/b %é?', { cron: '0 3 * * *' }, report, undefined)])
    const isPaused = async () => Object.fromEntries((await remote.list()).map((each) => [each.name, each.isPaused]))
    expect(await remote.list()).toEqual(await local.schedules.list())
    await remote.pause('a/b %é?')
    await expect.poll(isPaused).toEqual({ 'a/b %é?': true, nightly: false })
    await remote.resume('a/b %é?')
    await expect.poll(isPaused).toEqual({ 'a/b %é?': false, nightly: false })
    for (let i = 0; i < 2; i++) await remote.trigger('nightly', { idempotencyKey: 'once' })
    await expect.poll(async () => (await remote.list())[1]).toMatchObject({ name: 'nightly', started: 1 })
    await expect(remote.pause('monthly')).rejects.toThrow(
      new RunNotFoundError("no schedule 'monthly'; known: a/b %é?, nightly"),
    )
    await local.close()
  })

  it('does not sync: what takes up schedules has their code', async () => {
    const { local, remote } = await open()
    await expect(remote.sync([])).rejects.toThrow(InvalidInputError)
    expect(await remote.list()).toHaveLength(1)
    await local.close()
  })
})
