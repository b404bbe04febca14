import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { bearer } from '../../functions/http/bearer.ts'
import { OverwinterClient } from '../../sdk/http-client/index.ts'
import { type Callback, type Context, type RawRequest, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { createApp, createCallbackApp, serveLocal } from './by-the-document.ts'
import { Api } from './fixture.ts'

const Decision = z.object({
  approved: z.boolean(),
  cents: z.number().meta({ title: 'Amount', description: 'in cents' }),
  priority: z.enum(['high', 'low']),
  note: z.string().optional(),
  mail: z.email().optional(),
  urgent: z.boolean().optional(),
  items: z.array(z.object({ id: z.string() })).optional(),
})

/** An API whose one workflow asks one thing. */
async function asking(ask: (ctx: Context) => Callback<unknown>, options: Parameters<typeof Api.open>[0] = {}) {
  let link = ''
  const asks = workflow('expense', async (ctx) => {
    const { url, promise } = ask(ctx)
    await ctx.step('mail', () => {
      link = url
    })
    return promise
  })
  const api = await Api.open(options, [asks] as never)
  const { runId } = await api.local.start(asks, undefined)
  await api.reaches(runId, 'waiting')
  const visit = async (init?: RequestInit) => {
    const response = await api.app.request(link, init)
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  const post = (body: BodyInit, headers: Record<string, string> = {}) => visit({ method: 'POST', body, headers })
  const fill = (fields: Record<string, string>) => post(new URLSearchParams({ '.page': '1', ...fields }))
  return { api, runId, link, visit, post, fill, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() }
}

type BodyInit = NonNullable<RequestInit['body']>
const GOOD = { approved: 'true', cents: '1250', priority: 'low' }

describe('the page of a callback', () => {
  it('names the question, and has a field for each thing that the schema asks for', async () => {
    await using it = await asking((ctx) =>
      ctx.callback('decide', { schema: Decision, question: 'Pay <b>Ada</b>?', timeout: '1d' }),
    )
    const { status, text } = await it.visit()
    expect(status).toBe(200)
    expect(text).toContain('<h1>Pay &lt;b&gt;Ada&lt;/b&gt;?</h1>')
    expect(text).toMatch(/expense · decide · open until \w+, \d+/)
    expect(text).toMatch(
      /<select name="approved" required><option value=""><\/option><option value="true">yes<\/option><option value="false">no<\/option>/,
    )
    expect(text).toMatch(
      /Amount<small>in cents<\/small><input type="number" step="any" name="cents" value="" required>/,
    )
    expect(text).toMatch(
      /<select name="priority" required><option value=""><\/option><option value="high">high<\/option><option value="low">low<\/option>/,
    )
    expect(text).toMatch(/<input type="text" name="note" value="">/)
    expect(text).toMatch(/<input type="email" name="mail" value="">/)
    expect(text).toMatch(
      /<select name="urgent"><option value=""><\/option><option value="true">yes<\/option><option value="false">no<\/option>/,
    )
    expect(text).toMatch(/<textarea name="items"/)
  })

  it('loads nothing, runs nothing, is kept nowhere and goes nowhere', async () => {
    await using it = await asking((ctx) => ctx.callback('decide'))
    const { headers, text } = await it.visit()
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    )
    const [, style] = /<style>([\s\S]*)<\/style>/.exec(text)!
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style))).toString(
      'base64',
    )
    expect(headers.get('content-security-policy')).toContain(digest)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(text).not.toMatch(/<script|src=|href=|http:|https:/)
  })

  it('changes nothing when it is looked at, however often and by whatever means', async () => {
    await using it = await asking((ctx) => ctx.callback('decide', { schema: Decision }))
    const before = await it.api.local.history(it.runId)
    for (const method of ['GET', 'HEAD', 'GET']) expect((await it.visit({ method })).status).toBe(200)
    expect(await it.api.local.history(it.runId)).toEqual(before)
    expect((await it.api.local.get(it.runId)).status).toBe('waiting')
    expect((await it.fill(GOOD)).status).toBe(202)
  })

  it('takes JSON where there is no schema, or none that can be described', async () => {
    for (const schema of [
      undefined,
      z.object({
        at: z
          .string()
          .transform((text) => new Date(text))
          .pipe(z.date()),
      }),
    ]) {
      await using it = await asking((ctx) => ctx.callback('decide', schema ? { schema } : {}))
      const { text } = await it.visit()
      expect(text).toMatch(/<textarea name="(result|at)"|name="at"/)
    }
    await using it = await asking((ctx) => ctx.callback('decide'))
    const wrong = await it.fill({ result: 'yes please' })
    expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('is not JSON; write a text in quotes')])
    expect(wrong.text).toContain('>yes please</textarea>')
    expect((await it.fill({ result: '{"approved": true}' })).status).toBe(202)
    expect(await it.api.local.result(it.runId)).toEqual({ approved: true })
  })

  it('takes one value where the schema is one', async () => {
    for (const [schema, fields, result] of [
      [z.boolean(), { result: 'false' }, false],
      [z.boolean(), { result: 'true' }, true],
      [z.number(), { result: '7.5' }, 7.5],
      [z.enum(['a', 'b']), { result: 'b' }, 'b'],
      [z.string(), { result: 'text' }, 'text'],
      [z.array(z.number()), { result: '[1,2]' }, [1, 2]],
    ] as const) {
      await using it = await asking((ctx) => ctx.callback('one', { schema: schema as z.ZodType }))
      expect((await it.fill(fields)).status).toBe(202)
      expect(await it.api.local.result(it.runId)).toEqual(result)
    }
  })

  it('that is over says what happened: answered, expired, ended, forged, cut off', async () => {
    await using answered = await asking((ctx) => ctx.callback('decide', { schema: Decision }))
    await answered.fill(GOOD)
    await answered.api.local.result(answered.runId)
    expect(await answered.visit()).toMatchObject({
      status: 410,
      text: expect.stringContaining('This was answered before'),
    })

    let link = ''
    const asks = workflow('asks', async (ctx) => {
      const { url, promise } = ctx.callback('decide', { timeout: '1h' })
      await ctx.step('mail', () => {
        link = url
      })
      return promise
    })
    const env = await testEnv({ workflows: [asks] })
    await env.start(asks, undefined)
    await env.advance('1h')
    const app = createApp({ client: env.client })
    const expired = await app.request(link)
    expect([expired.status, await expired.text()]).toEqual([410, expect.stringContaining('It is too late')])
    const late = await app.request(link, { method: 'POST', body: new URLSearchParams({ result: 'not even JSON' }) })
    expect([late.status, await late.text()]).toEqual([410, expect.stringContaining('was not completed in time')])

    await using ended = await asking((ctx) => ctx.callback('decide'))
    await ended.api.local.terminate(ended.runId)
    expect(await ended.visit()).toMatchObject({ status: 410, text: expect.stringContaining('has ended (terminated)') })

    const forged = await ended.api.app.request(`${ended.link}x`)
    expect([forged.status, forged.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    expect((await ended.api.app.request('/callbacks/garbled')).status).toBe(400)
  })
})

describe('the form of a callback', () => {
  it('becomes what the schema asks for', async () => {
    await using it = await asking((ctx) => ctx.callback('decide', { schema: Decision }))
    const sent = { ...GOOD, note: 'fine', mail: '', urgent: 'false', items: '[{"id":"a"}]' }
    const { status, text } = await it.fill(sent)
    expect([status, text]).toEqual([202, expect.stringContaining('Thank you')])
    expect(await it.api.local.result(it.runId)).toEqual({
      approved: true,
      cents: 1_250,
      priority: 'low',
      note: 'fine',
      urgent: false,
      items: [{ id: 'a' }],
    })
  })

  it('that says neither yes nor no is sent back, not taken for a no', async () => {
    await using it = await asking((ctx) => ctx.callback('decide', { schema: Decision }))
    const { status, text } = await it.fill({ cents: '1', priority: 'high' })
    expect([status, text]).toEqual([422, expect.stringMatching(/name="approved" required aria-invalid="true"/)])
    await using whole = await asking((ctx) => ctx.callback('one', { schema: z.boolean() }))
    expect((await whole.fill({})).status).toBe(422)
  })

  it('may be multipart, and a box that is ticked is a yes', async () => {
    await using it = await asking((ctx) => ctx.callback('decide', { schema: Decision }))
    const form = new FormData()
    for (const [name, value] of Object.entries({ approved: 'on', cents: '1', priority: 'high' })) form.set(name, value)
    expect((await it.post(form)).status).toBe(202)
    expect(await it.api.local.result(it.runId)).toEqual({ approved: true, cents: 1, priority: 'high' })
  })

  it('that does not fit comes back as it was filled in, with what is wrong beside it, and the run waits on', async () => {
    await using it = await asking((ctx) => ctx.callback('decide', { schema: Decision, question: 'Pay?' }))
    const before = await it.api.local.history(it.runId)
    const { status, text } = await it.fill({
      approved: 'true',
      cents: 'much "money"',
      priority: 'medium',
      note: '<i>',
      items: '[{"id":1}]',
    })
    expect(status).toBe(422)
    expect(text).toContain('<h1>Pay?</h1>')
    expect(text).toMatch(/name="approved" required><option value=""><\/option><option value="true" selected>yes/)
    expect(text).toMatch(
      /name="cents" value="much &quot;money&quot;" required aria-invalid="true"><\/label><p class="problem" role="alert">/,
    )
    expect(text).toMatch(/name="note" value="&lt;i&gt;"/)
    expect(text).toMatch(/\[0\]\.id: /)
    expect(await it.api.local.history(it.runId)).toEqual(before)
    expect((await it.fill(GOOD)).status).toBe(202)
  })

  it('sent twice is harmless, and another answer is told that the first one stands', async () => {
    await using it = await asking((ctx) => ctx.callback('decide', { schema: Decision }))
    expect((await it.fill(GOOD)).status).toBe(202)
    expect((await it.fill(GOOD)).status).toBe(202)
    await it.api.local.result(it.runId)
    expect((await it.fill(GOOD)).status).toBe(202)
    expect(await it.fill({ ...GOOD, approved: 'false' })).toMatchObject({
      status: 409,
      text: expect.stringContaining('the first one counts'),
    })
  })

  it('of another page is an object of texts where no schema says otherwise', async () => {
    await using it = await asking((ctx) => ctx.callback('slack'))
    expect((await it.post(new URLSearchParams({ user: 'ada', __proto__: 'x', text: '1' }))).status).toBe(202)
    expect(await it.api.local.result(it.runId)).toEqual({ user: 'ada', text: '1' })
  })

  it('with a file, or cut off, is refused, and the run waits on', async () => {
    await using it = await asking((ctx) => ctx.callback('decide'))
    const form = new FormData()
    form.set('result', new File(['x'], 'x.txt'))
    expect(await it.post(form)).toMatchObject({ status: 400, text: expect.stringContaining('is a file') })
    expect((await it.post('--x\r\nbroken', { 'content-type': 'multipart/form-data; boundary=x' })).status).toBe(400)
    expect((await it.api.local.get(it.runId)).status).toBe('waiting')
  })

  it('is not what curl sends by default, which is JSON', async () => {
    await using it = await asking((ctx) => ctx.callback('decide'))
    const { status, text } = await it.post('{"result":"yes"}', { 'content-type': 'application/x-www-form-urlencoded' })
    expect([status, JSON.parse(text)]).toEqual([202, { accepted: true }])
    expect(await it.api.local.result(it.runId)).toBe('yes')
  })
})

describe('JSON for a callback', () => {
  it('that comes late is 410 with what happened, and one that does not fit 422', async () => {
    await using it = await asking((ctx) => ctx.callback('decide', { schema: Decision }))
    const json = { 'content-type': 'application/json' }
    const misfit = await it.post('{"result":{}}', json)
    expect([misfit.status, JSON.parse(misfit.text).problems.length]).toEqual([422, 3])
    await it.api.local.terminate(it.runId)
    const late = await it.post('{"result":{}}', json)
    expect([late.status, JSON.parse(late.text).detail]).toEqual([
      410,
      expect.stringContaining('has ended (terminated)'),
    ])
    expect((await it.post('<xml/>', { 'content-type': 'text/xml' })).status).toBe(410)
  })
})

describe('a webhook', () => {
  const hook = (ctx: Context) => ctx.callback('paid', { raw: true, timeout: '1d' })
  const sign = (body: string) => createHmac('sha256', 'shared').update(body).digest('hex')

  it('is taken as it came, so that a step can check its signature', async () => {
    await using it = await asking(hook)
    const body = '{ "paid":  5.0 }'
    const { status, text } = await it.post(body, { 'Content-Type': 'application/json', 'X-Signature': sign(body) })
    expect([status, JSON.parse(text)]).toEqual([202, { accepted: true }])
    const request = (await it.api.local.result(it.runId)) as RawRequest
    expect(request.body).toBe(body)
    expect(request.headers['x-signature']).toBe(sign(request.body))
    expect(Object.keys(request.headers).every((name) => name === name.toLowerCase())).toBe(true)
  })

  it.each([
    ['a form', 'a=1&b=%20', 'application/x-www-form-urlencoded', { body: 'a=1&b=%20' }],
    ['XML with a byte order mark', '\uFEFF<a/>', 'text/xml', { body: '\uFEFF<a/>' }],
    ['bytes', new Uint8Array([0xff, 0x00, 0x80]), 'application/octet-stream', { body: '/wCA', isBase64: true }],
    ['nothing', '', 'text/plain', { body: '' }],
  ])('may be %s', async (_, body, type, expected) => {
    await using it = await asking(hook)
    expect((await it.post(body, { 'content-type': type })).status).toBe(202)
    expect(await it.api.local.result(it.runId)).toEqual({
      ...expected,
      headers: expect.objectContaining({ 'content-type': type }),
    })
  })

  it('that is sent again is harmless; another one is a conflict; a huge one is refused', async () => {
    await using it = await asking(hook)
    expect((await it.post('x'.repeat(1024 * 1024 + 1))).status).toBe(413)
    expect((await it.post('one')).status).toBe(202)
    await it.api.local.result(it.runId)
    expect((await it.post('one', { date: 'later' })).status).toBe(202)
    expect((await it.post('two')).status).toBe(409)
  })

  it('has a page that says that it is none for people', async () => {
    await using it = await asking(hook)
    const { status, text } = await it.visit()
    expect([status, text]).toEqual([200, expect.stringContaining('This address is for a service')])
    expect(text).not.toContain('<form')
  })
})

describe('who holds the token of a callback', () => {
  it('needs nothing else, also where the API asks for a token of its own', async () => {
    await using it = await asking((ctx) => ctx.callback('decide', { heartbeatTimeout: '1h' }), {
      authorize: bearer('secret'),
    })
    expect((await it.api.app.request('/runs')).status).toBe(401)
    expect((await it.visit()).status).toBe(200)
    expect((await it.api.app.request(`${it.link}/heartbeat`, { method: 'POST' })).status).toBe(202)
    expect((await it.fill({ result: '1' })).status).toBe(202)
  })

  it('gives signs of life, and is told when they are not wanted any more', async () => {
    await using it = await asking((ctx) => ctx.callback('job', { heartbeatTimeout: '1h' }))
    const beat = () => it.api.app.request(`${it.link}/heartbeat`, { method: 'POST' })
    expect((await beat()).status).toBe(202)
    await it.api.local.terminate(it.runId)
    expect((await beat()).status).toBe(410)
    await using plain = await asking((ctx) => ctx.callback('plain'))
    expect((await plain.api.app.request(`${plain.link}/heartbeat`, { method: 'POST' })).status).toBe(409)
  })
})

describe('the token of a callback', () => {
  it('is not in the log when something goes wrong', async () => {
    const logged: string[] = []
    await using it = await asking((ctx) => ctx.callback('decide'), {
      log: (_level, message) => void logged.push(message),
    })
    it.api.local.world.store.frames = () => Promise.reject(new Error('out of order'))
    expect((await it.visit()).status).toBe(500)
    expect(logged).toEqual(['GET /callbacks/… failed: Error: out of order'])
  })
})

describe('a local server', () => {
  it('gives callbacks its own address, and the page posts back to it', async () => {
    let link = ''
    const asks = workflow('asks', async (ctx) => {
      const { url, promise } = ctx.callback('ok', { heartbeatTimeout: '1h' })
      await ctx.step('mail', () => void (link = url))
      return promise
    })
    await using server = await serveLocal({ path: ':memory:', workflows: [asks], port: 0, log: () => {} })
    const client = new OverwinterClient({ url: server.url })
    const { runId } = await client.start(asks, undefined)
    while (link === '') await new Promise((resolve) => setImmediate(resolve))
    expect(link).toMatch(new RegExp(`^http://localhost:${server.port}/callbacks/`))
    await client.heartbeatCallback(link.split('/').at(-1)!)
    // As a browser sends it: from the page itself.
    const origin = new URL(link).origin
    const answer = await fetch(link, {
      method: 'POST',
      body: new URLSearchParams({ result: '42' }),
      headers: { origin },
    })
    expect(answer.status).toBe(202)
    expect(await client.result(runId)).toBe(42)
  })
})

describe('the app of the function that strangers can call', () => {
  it('shows and takes answers, and has nothing else of the API', async () => {
    await using it = await asking((ctx) => ctx.callback('decide', { schema: Decision, question: 'Pay Ada?' }))
    const app = createCallbackApp({ client: it.api.local, log: () => {} })
    expect((await app.request(it.link)).status).toBe(200)
    for (const path of ['/runs', `/runs/${it.runId}`, `/runs/${it.runId}/callbacks`, '/openapi.json', '/healthz'])
      expect((await app.request(path)).status).toBe(404)
    expect((await app.request(`/runs/${it.runId}`, { method: 'DELETE' })).status).toBe(404)
    const answered = await app.request(it.link, {
      method: 'POST',
      body: new URLSearchParams({ '.page': '1', ...GOOD }),
    })
    expect(answered.status).toBe(202)
    await it.api.reaches(it.runId, 'completed')
  })
})
