import { describe, expect, it } from 'vitest'
import { createApp } from '../../functions/http/app.ts'
import { schedule, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'

const report = workflow('report', async () => 'done')

async function open() {
  const local = await Local.open({ path: ':memory:', workflows: [], schedules: [schedule('nightly', { cron: '0 2 * * *' }, report, undefined)], log: () => {} })
  const app = createApp({ client: local })
  const post = (path: string, headers?: Record<string, string>) => app.request(path, { method: 'POST', headers })
  const shown = async () => ((await (await app.request('/schedules')).json()) as { schedules: Record<string, unknown>[] }).schedules
  return { local, app, post, shown }
}

describe('schedules over HTTP', () => {
  it('are listed with when they are due next', async () => {
    const { local, shown } = await open()
    await expect
      .poll(shown)
      .toMatchObject([{ name: 'nightly', workflow: 'report', cron: '0 2 * * *', isPaused: false, nextDue: expect.stringMatching(/T02:00:00\.000Z$/) }])
    await local.close()
  })

  it('are paused, resumed, and triggered once per key', async () => {
    const { local, post, shown } = await open()
    expect((await post('/schedules/nightly/pause')).status).toBe(202)
    await expect.poll(shown).toMatchObject([{ isPaused: true }])
    expect((await post('/schedules/nightly/resume')).status).toBe(202)
    await expect.poll(shown).toMatchObject([{ isPaused: false }])
    for (let i = 0; i < 2; i++) expect((await post('/schedules/nightly/trigger', { 'idempotency-key': 'once' })).status).toBe(202)
    await expect.poll(shown).toMatchObject([{ started: 1 }])
    expect((await local.list({ workflow: 'report' })).runs).toHaveLength(1)
    await local.close()
  })

  it('that do not exist are a 404 that names those that do', async () => {
    const { local, post } = await open()
    const response = await post('/schedules/weekly/pause')
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ type: expect.stringContaining('unknown-schedule'), detail: expect.stringContaining('known: nightly') })
    await local.close()
  })
})
