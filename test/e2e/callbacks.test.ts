import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { PATIENCE_MS } from '../outside/patience.ts'
import { type Deployment, deployed, eventually } from './deployment.ts'
import { byLink, priceOf, pricing, SHARED_SECRET, watched, webhook } from './workflows.ts'

it('a deployed run replies to whoever asks, once under one key', async () => {
  const { client } = await deployed()
  const run = await client.start(pricing)
  const ask = (item: string, idempotencyKey?: string) =>
    run.ask(priceOf, { item }, { timeout: PATIENCE_MS, ...(idempotencyKey !== undefined && { idempotencyKey }) })
  expect(await ask('bread', 'k')).toEqual({ cents: 500, at: new Date(0) })
  expect(await ask('bread', 'k')).toEqual({ cents: 500, at: new Date(0) })
  await expect(ask('fish')).rejects.toMatchObject({ name: 'RequestRefusedError', cause: { message: 'sold out' } })
  expect((await run.history()).filter(({ type }) => type.startsWith('request.'))).toHaveLength(2)
  await run.cancel()
})

/** Nothing here is signed: the API's authorizer is on, and would answer 403. */
describe.concurrent('a callback of a deployed workflow', () => {
  let deployment: Deployment
  let client: Deployment['client']
  beforeAll(async () => {
    deployment = await deployed()
    client = deployment.client
  })

  /** The link as the run hands it out, and as it is reached here, where the name of the API resolves to nothing. */
  async function linkOf(runId: string): Promise<{ url: string; here: string }> {
    const { url } = await eventually('the run waits', async () => {
      const run = await client.get(runId)
      return run.status === 'waiting' && (run.progress as { url: string })
    })
    return { url, here: `${deployment.url}${new URL(url).pathname}` }
  }

  it('is answered by link, and a scanner of mails that follows it first changes nothing', async () => {
    const { runId } = await client.start(byLink, undefined)
    const { url, here } = await linkOf(runId)
    expect(url.startsWith(`${deployment.outputs.ApiUrl}/callbacks/`), url).toBe(true)
    const before = await client.history(runId)
    for (const method of ['HEAD', 'GET', 'GET'])
      expect((await fetch(here, { method, headers: { 'user-agent': 'a scanner of mails' } })).status).toBe(200)
    const page = await fetch(here)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).toContain('<h1>Shall we pay Ada?</h1>')
    expect(await client.history(runId)).toEqual(before)

    const misfit = await fetch(here, { method: 'POST', body: JSON.stringify({ result: { approved: 'perhaps' } }) })
    expect(misfit.status).toBe(422)
    const answer = await fetch(here, {
      method: 'POST',
      body: new URLSearchParams({ '.page': '1', approved: 'true', note: 'go' }),
    })
    expect([answer.status, await answer.text()]).toEqual([202, expect.stringContaining('Thank you')])
    expect(await client.result(runId, { timeout: PATIENCE_MS })).toEqual({ approved: true, note: 'go' })
    expect((await fetch(here)).status).toBe(410)
    expect((await fetch(`${here}x`)).status).toBe(404)
  })

  it('takes a webhook as it came, and its signature can be checked', async () => {
    const { runId } = await client.start(webhook, undefined)
    const { here } = await linkOf(runId)
    const body = '{ "paid":  5.0, "by": "Zoë" }'
    const post = () =>
      fetch(here, {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          'X-Signature': createHmac('sha256', SHARED_SECRET).update(body).digest('hex'),
        },
      })
    expect((await post()).status).toBe(202)
    expect(await client.result(runId, { timeout: PATIENCE_MS })).toEqual({ isGenuine: true, body })
    // Services deliver again what they think was lost.
    expect((await post()).status).toBe(202)
  })

  it('lives as long as it shows signs of life', async () => {
    const { runId } = await client.start(watched, { heartbeatMs: 15_000 })
    const { here } = await linkOf(runId)
    const beat = () => fetch(`${here}/heartbeat`, { method: 'POST' })
    expect((await beat()).status).toBe(202)
    expect(await client.result(runId, { timeout: PATIENCE_MS })).toBe("callback 'job' gave no sign of life for 15 s")
    expect((await beat()).status).toBe(410)
  })

  it('opens no other door', async () => {
    for (const path of ['/runs', '/workflows', '/healthz', '/callbacks'])
      expect((await fetch(`${deployment.url}${path}`)).status, path).toBe(403)
  })
})
