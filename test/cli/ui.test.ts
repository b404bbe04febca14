import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { serveUi } from '../../cli/ui/server.ts'
import { OverwinterClient } from '../../sdk/http-client/index.ts'
import { workflow } from '../../sdk/index.ts'
import { Api } from '../http/fixture.ts'
import { overwinter } from './fixture.ts'

/** An API that keeps what it was asked. */
let upstream: Server
let url: string
let asked: {
  method: string
  path: string
  authorization: string | undefined
  cookie: string | undefined
  origin: string | undefined
}[]
let api: Api

const nap = workflow('nap', async (ctx) => {
  await ctx.sleep('rest', '1d')
  return 'slept'
})

beforeEach(async () => {
  api = await Api.open({}, [nap])
  asked = []
  upstream = createServer((incoming, outgoing) => {
    const { method = '', url: path = '', headers } = incoming
    asked.push({ method, path, authorization: headers.authorization, cookie: headers.cookie, origin: headers.origin })
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', async () => {
      const body = Buffer.concat(chunks)
      const sent = Object.entries(headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value] as [string, string]] : [],
      )
      const response = await api.app.request(path, { method, headers: sent, ...(body.length > 0 && { body }) })
      outgoing
        .writeHead(response.status, Object.fromEntries(response.headers))
        .end(Buffer.from(await response.arrayBuffer()))
    })
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
})

afterEach(async () => {
  upstream.closeAllConnections()
  upstream.close()
  await api[Symbol.asyncDispose]()
})

interface Ui extends AsyncDisposable {
  port: number
  link: string
  ask: (
    path: string,
    options?: { method?: string; headers?: Record<string, string>; body?: string },
  ) => Promise<{ status: number; headers: Record<string, unknown>; text: string }>
}

async function open(options: { isReadOnly?: boolean; entry?: string } = {}): Promise<Ui> {
  const connection = { url, token: 'secret' }
  const { server, link } = await serveUi(connection, new OverwinterClient(connection), {
    port: 0,
    isReadOnly: false,
    ...options,
  })
  const { port } = server.address() as AddressInfo
  asked.length = 0
  return {
    port,
    link: link('/ui/'),
    // Not fetch, which decides about Host and Origin itself.
    ask: (path, { method = 'GET', headers = {}, body } = {}) =>
      new Promise((resolve, reject) => {
        const request = httpRequest({ host: '127.0.0.1', port, path, method, headers }, (response) => {
          let text = ''
          response.on('data', (chunk) => (text += chunk))
          response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
        })
        request.on('error', reject)
        request.end(body)
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function cookieOf(ui: Ui): Promise<string> {
  const { pathname, search } = new URL(ui.link)
  const { headers } = await ui.ask(pathname + search)
  return (headers['set-cookie'] as string[])[0]!.split(';')[0]!
}

test('the link lets one browser in, once, with a cookie that no script and no other site can use', async () => {
  await using ui = await open()
  const { pathname, search } = new URL(ui.link)
  const first = await ui.ask(pathname + search)
  expect([first.status, first.headers['set-cookie']]).toEqual([
    200,
    [expect.stringMatching(/^overwinter-ui-\d+=[\w-]{32}; HttpOnly; SameSite=Strict; Path=\/$/)],
  ])
  expect(first.text).toContain('url=/ui/')
  expect((await ui.ask(pathname + search)).status).toBe(401)
  const cookie = (first.headers['set-cookie'] as string[])[0]!.split(';')[0]!
  expect((await ui.ask('/ui/', { headers: { cookie } })).text).toContain('<!doctype html>')
  expect(JSON.parse((await ui.ask('/ui/config.json', { headers: { cookie } })).text)).toMatchObject({
    name: new URL(url).host,
    isReadOnly: false,
    hasReplay: false,
  })
})

test('who comes by a link that was used is told so on a page, and a script as a problem', async () => {
  await using ui = await open()
  const { pathname, search } = new URL(ui.link)
  await ui.ask(pathname + search)
  const { status, headers, text } = await ui.ask(pathname + search, {
    headers: { accept: 'text/html,application/xhtml+xml' },
  })
  expect([status, headers['content-type'], headers['set-cookie']]).toEqual([401, 'text/html; charset=utf-8', undefined])
  expect(text).toContain('start it again')
  expect(text).not.toContain(search.slice('?key='.length))
  const script = await ui.ask('/runs', { headers: { accept: 'application/json' } })
  expect([script.status, JSON.parse(script.text).type]).toEqual([401, expect.stringContaining('unauthorized')])
})

test('requests to routes of the API are forwarded with the credentials of the command, and without any header of the browser', async () => {
  await using ui = await open()
  const cookie = await cookieOf(ui)
  await api.local.start(nap, undefined, { id: 'n' })
  const { status, text, headers } = await ui.ask('/runs/n', { headers: { cookie } })
  expect([status, JSON.parse(text).runId]).toEqual([200, 'n'])
  expect(headers['content-security-policy']).toBe("default-src 'none'; sandbox")
  const body = JSON.stringify({ reason: 'enough' })
  const cancelled = await ui.ask('/runs/n/cancel', {
    method: 'POST',
    headers: {
      cookie,
      origin: `http://127.0.0.1:${ui.port}`,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/json',
    },
    body,
  })
  expect(cancelled.status).toBe(202)
  expect(asked).toEqual([
    { method: 'GET', path: '/runs/n', authorization: 'Bearer secret', cookie: undefined, origin: undefined },
    { method: 'POST', path: '/runs/n/cancel', authorization: 'Bearer secret', cookie: undefined, origin: undefined },
  ])
})

test('foreign names and pages, requests without the cookie, and paths that the API has not: nothing is handed on', async () => {
  await using ui = await open()
  const cookie = await cookieOf(ui)
  const refused: [what: string, path: string, headers: Record<string, string>, status: number, method?: string][] = [
    ['no cookie', '/runs', {}, 401],
    ['a wrong cookie', '/runs', { cookie: `overwinter-ui-${ui.port}=${'x'.repeat(32)}` }, 401],
    ['a wrong key', '/ui/?key=guessed', {}, 401],
    ['a foreign host', '/runs', { cookie, host: 'evil.example' }, 403],
    ['the host of another port', '/runs', { cookie, host: '127.0.0.1:1' }, 403],
    [
      'the link under a foreign host',
      new URL(ui.link).pathname + new URL(ui.link).search,
      { host: 'evil.example' },
      403,
    ],
    ['a foreign origin', '/runs', { cookie, origin: 'https://evil.example' }, 403],
    ['an origin of another port', '/runs', { cookie, origin: 'http://127.0.0.1:1' }, 403],
    ['no origin at all', '/runs', { cookie, origin: 'null' }, 403],
    ['a page of another site', '/runs', { cookie, 'sec-fetch-site': 'cross-site' }, 403],
    ['a page of another port', '/runs', { cookie, 'sec-fetch-site': 'same-site' }, 403],
    ['an unlisted path', '/admin', { cookie }, 404],
    ['an unlisted method', '/runs/n', { cookie }, 404, 'PUT'],
    ['a step up', '/runs/%2e%2e/why', { cookie }, 404],
    ['a step up', '/runs/../admin', { cookie }, 404],
    ['another server', 'http://evil.example/runs', { cookie }, 404],
  ]
  for (const [what, path, headers, status, method = 'GET'] of refused) {
    const answer = await ui.ask(path, { headers, method })
    expect([what, answer.status]).toEqual([what, status])
  }
  expect(asked).toEqual([])
})

test('read-only hands on what reads, and nothing that changes', async () => {
  await using ui = await open({ isReadOnly: true })
  const cookie = await cookieOf(ui)
  await api.local.start(nap, undefined, { id: 'n' })
  expect((await ui.ask('/runs', { headers: { cookie } })).status).toBe(200)
  for (const [method, path] of [
    ['POST', '/runs/n/cancel'],
    ['DELETE', '/runs/n'],
    ['POST', '/workflows/nap/runs'],
  ] as const) {
    const { status, text } = await ui.ask(path, { method, headers: { cookie } })
    expect([status, JSON.parse(text).detail]).toEqual([403, expect.stringContaining('--read-only')])
  }
  expect(asked.map(({ method }) => method)).toEqual(['GET'])
})

test('read-only hands out no token that a callback is answered by, however the list is asked for', async () => {
  await using ui = await open({ isReadOnly: true })
  const cookie = await cookieOf(ui)
  await api.local.start(nap, undefined, { id: 'n' })
  for (const path of [
    '/callbacks?run=n',
    '/runs/n/callbacks',
    '/runs/n%2Fcallbacks',
    '/runs/n%2fcallbacks',
    '/callbacks/some-token',
    '/v1/tokens',
    '/runs/n/replay',
  ]) {
    const { status } = await ui.ask(path, { headers: { cookie } })
    expect([path, status]).toEqual([path, 403])
  }
  expect(asked).toEqual([])
  for (const path of [
    '/runs/n',
    '/runs/n/history',
    '/runs/n/why',
    '/workflows/nap',
    '/definitions',
    '/limits',
    '/pauses',
    '/schedules',
    '/v1/workers',
    '/counts',
    '/incidents',
  ])
    expect([path, (await ui.ask(path, { headers: { cookie } })).status]).toEqual([path, 200])
})

test('with an entry, the code on this machine is taken through the history of a deployed run', async () => {
  await using ui = await open({ entry: `${import.meta.dirname}/ui-entry.ts` })
  const cookie = await cookieOf(ui)
  await api.local.start(nap, undefined, { id: 'n' })
  await api.reaches('n', 'sleeping')
  const { status, text } = await ui.ask('/runs/n/replay', { headers: { cookie } })
  expect([status, JSON.parse(text)]).toMatchObject([
    200,
    { open: [{ id: 'rest', kind: 'sleep', at: expect.stringContaining('ui-entry.ts:') }] },
  ])
  expect((await ui.ask('/runs/nobody/replay', { headers: { cookie } })).status).toBe(404)
})

test('a wrong address and a port that is taken are a sentence, and exit code 1', async () => {
  const { port } = new URL(url)
  const wrong = await overwinter(['ui', '--url', `${url}/prod`, '--port', '0'])
  expect(wrong).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is not the API of Overwinter: its /openapi.json answered 404'),
  })
  expect(await overwinter(['ui', '--url', 'http://127.0.0.1:1', '--port', '0'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nothing answers on http://127.0.0.1:1'),
  })
  expect(await overwinter(['ui', '--url', 'orders', '--port', '0'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("'orders' is no address"),
  })
  expect(await overwinter(['ui', '--url', url, '--port', port])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`port ${port} is taken`),
  })
})
