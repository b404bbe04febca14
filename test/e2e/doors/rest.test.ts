import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import type { OverwinterClient } from '../../../sdk/http-client/index.ts'
import { sigv4 } from '../../../sdk/http-client/sigv4.ts'
import { PATIENCE_MS } from '../../outside/patience.ts'
import { assumed, ownCredentials, region } from '../credentials.ts'
import { eventually } from '../deployment.ts'
import { byLink, echo, SHARED_SECRET, webhook } from '../workflows.ts'
import { type Opened, open, statusOf } from './door.ts'

/** The stand-in checks IAM, as everywhere in these tests. */
describe("a stack with api: 'rest'", () => {
  let door: Opened
  let owner: OverwinterClient
  beforeAll(() => {
    door = open('rest')
    owner = door.as({ sign: sigv4({ region, credentials: ownCredentials() }) })
  })

  it('starts runs, waits for them and lists them', async () => {
    const { run } = await owner.startAndSettle(echo, { text: 'Zoë' }, { id: 'echo-1', timeout: PATIENCE_MS })
    expect(run).toMatchObject({ status: 'completed', output: { text: 'Zoë' } })
    expect((await owner.list({ workflow: 'echo' })).runs.map(({ runId }) => runId)).toEqual(['echo-1'])
    expect((await owner.history('echo-1')).length).toBeGreaterThan(0)
  })

  it('points to runs with the stage before their path', async () => {
    const request = new Request(`${door.url}/workflows/echo/runs`, {
      method: 'POST',
      body: '{"id":"echo-2","input":{"text":"x"}}',
    })
    const response = await fetch(await sigv4({ region, credentials: ownCredentials() })(request))
    expect([response.status, response.headers.get('location')]).toEqual([
      201,
      `${new URL(door.outputs.ApiUrl).pathname}/runs/echo-2`,
    ])
  })

  it('lets nobody in who has not signed, except to callbacks', async () => {
    for (const path of ['/runs', '/workflows', '/healthz', '/openapi.json', '/callbacks', '/nowhere'])
      expect((await door.get(path)).status, path).toBe(403)
    expect((await door.get('/callbacks/nonsense')).status).toBe(400)
  })

  it('lets whoever was granted a part of it do that, and nothing else', async () => {
    const { runId } = await owner.start(byLink, undefined)
    const as = async (roleArn: string) => {
      const client = door.as({ sign: sigv4({ region, credentials: await assumed(roleArn) }) })
      return {
        start: await statusOf(client.start(echo, { text: 'x' })),
        read: await statusOf(client.get(runId)),
        list: await statusOf(client.list()),
        cancel: await statusOf(client.cancel(runId)),
        tokens: await statusOf(client.listTokens()),
      }
    }
    const nothing = { start: 403, read: 403, list: 403, cancel: 403, tokens: 403 }
    expect(await as(door.outputs.StartRole)).toEqual({ ...nothing, start: 200 })
    expect(await as(door.outputs.ReadRole)).toEqual({ ...nothing, read: 200, list: 200 })
    expect(await as(door.outputs.OperateRole)).toEqual({ ...nothing, cancel: 200 })
  })

  describe('a callback', () => {
    /** The link as the run hands it out, and as it is reached here, where the name of the API resolves to nothing. */
    async function linkOf(runId: string): Promise<string> {
      const { url } = await eventually('the run waits', async () => {
        const run = await owner.get(runId)
        return run.status === 'waiting' && (run.progress as { url: string })
      })
      expect(url.startsWith(`${door.outputs.ApiUrl}/callbacks/`), url).toBe(true)
      return `${door.url}${url.slice(door.outputs.ApiUrl.length)}`
    }

    it('is answered on its page by somebody who has nothing but the link', async () => {
      const { runId } = await owner.start(byLink, undefined)
      const link = await linkOf(runId)
      expect((await fetch(link, { method: 'HEAD' })).status).toBe(200)
      const page = await fetch(link)
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      expect(await page.text()).toContain('<h1>Shall we pay Ada?</h1>')
      const answer = await fetch(link, {
        method: 'POST',
        body: new URLSearchParams({ '.page': '1', approved: 'true', note: 'go' }),
      })
      expect(answer.status).toBe(202)
      expect(await owner.result(runId, { timeout: PATIENCE_MS })).toEqual({ approved: true, note: 'go' })
      expect((await fetch(link)).status).toBe(410)
    })

    it.each([
      ['text', Buffer.from('{ "paid":  5.0, "by": "Zoë" }'), 'application/json', 'utf8'],
      ['bytes that are no text', Buffer.from([0xff, 0x00, 0xfe, 0x80, 0x0a]), 'application/json', 'base64'],
      ['an image', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x00]), 'image/png', 'base64'],
    ] as const)('takes a webhook byte by byte: %s', async (_, body, type, encoding) => {
      const { runId } = await owner.start(webhook, undefined)
      const link = await linkOf(runId)
      const arrives = body.toString(encoding)
      const signature = createHmac('sha256', SHARED_SECRET).update(arrives).digest('hex')
      expect(
        (await fetch(link, { method: 'POST', body, headers: { 'content-type': type, 'X-Signature': signature } }))
          .status,
      ).toBe(202)
      expect(await owner.result(runId, { timeout: PATIENCE_MS })).toEqual({ isGenuine: true, body: arrives })
    })

    it('opens no other door', async () => {
      for (const path of [
        '/callbacks/..%5Cruns',
        '/callbacks/..%2Fruns',
        '/callbacks/%2e%2e%2Fruns',
        '/callbacks/x/runs',
      ])
        expect((await door.get(path)).status, path).toBeGreaterThanOrEqual(400)
    })
  })
})
