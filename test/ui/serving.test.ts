import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalServer, serveLocal } from '../../functions/local/serve.ts'
import { workflows } from './workflows.ts'

let server: LocalServer
beforeAll(async () => {
  server = await serveLocal({ path: ':memory:', port: 0, workflows, log: () => {} })
})
afterAll(() => server?.close(0))

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, { headers, redirect: 'manual' })

test('a browser that opens the address of the server is redirected to the page, and other clients are not', async () => {
  const led = await get('/', { accept: 'text/html,application/xhtml+xml' })
  expect([led.status, led.headers.get('location')]).toEqual([302, '/ui/'])
  expect((await get('/', { accept: 'application/json' })).status).toBe(404)
  expect((await get('/ui')).headers.get('location')).toBe('/ui/')
})

test('every view is the page, with a policy that lets nothing in from elsewhere and nothing inline', async () => {
  for (const path of ['/ui/', '/ui/runs', '/ui/runs/order-1.2?tab=graph', '/ui/workflows/a%2Fb']) {
    const { status, headers } = await get(path)
    expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8'])
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect([headers.get('x-content-type-options'), headers.get('referrer-policy')]).toEqual(['nosniff', 'no-referrer'])
  }
})

test('script and style are kept for good under a name of their content, and the page is asked for again', async () => {
  const page = await get('/ui/')
  const etag = page.headers.get('etag')!
  expect(page.headers.get('cache-control')).toBe('no-cache')
  expect((await get('/ui/runs', { 'if-none-match': etag })).status).toBe(304)
  const names = [...(await page.text()).matchAll(/\/ui\/(app-[0-9a-f]{12}\.(?:js|css))/g)].map(([, name]) => name!)
  expect(names).toHaveLength(2)
  for (const name of names)
    expect((await get(`/ui/${name}`)).headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect((await get('/ui/app-000000000000.js')).status).toBe(404)
})

test('the page is told where it is', async () => {
  const told = {
    name: 'local',
    isLocal: true,
    isReadOnly: false,
    hasChanges: true,
    hasReplay: true,
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
  }
  expect(await (await get('/ui/config.json')).json()).toEqual(told)
})

test('a foreign host name is refused before the page is looked at', async () => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    request({ port: server.port, host: '127.0.0.1', path: '/ui/', headers: { host: 'evil.example' } }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
      .on('error', reject)
      .end()
  })
  expect(status).toBe(403)
  expect((await get('/ui/', { origin: 'https://evil.example' })).status).toBe(403)
})

test('what is not asked for by GET or HEAD is the API’s', async () => {
  expect((await fetch(`${server.url}/ui/`, { method: 'HEAD' })).status).toBe(200)
  expect((await fetch(`${server.url}/ui/`, { method: 'POST' })).status).toBe(404)
})
