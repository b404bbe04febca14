import { request } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import type { ServeLocalOptions } from '../../functions/local/serve.ts'
import { Local } from '../../sdk/local.ts'
import { serveLocal } from './by-the-document.ts'
import { order, read, sleeper } from './fixture.ts'

const world = { path: ':memory:', workflows: [order, sleeper], log: () => {} }
const serve = (options: Partial<ServeLocalOptions> = {}) => serveLocal({ ...world, port: 0, ...options })

test('it listens on the loopback address only, unless told otherwise', async () => {
  await using standard = await serve()
  expect(standard.address).toBe('127.0.0.1')
  expect(standard.url).toBe(`http://127.0.0.1:${standard.port}`)
  await using told = await serve({ host: '0.0.0.0' })
  expect(told.address).toBe('0.0.0.0')
})

test('it serves runs over a real connection', async () => {
  await using server = await serve()
  const started = await read(
    await fetch(`${server.url}/workflows/order/runs?wait=20s`, {
      method: 'POST',
      body: JSON.stringify({ input: { id: 'o', cents: 1 }, id: 'r1' }),
    }),
  )
  expect([started.status, started.headers.get('location'), started.body.output]).toEqual([201, '/runs/r1', 2])
  const head = await fetch(`${server.url}/runs/r1`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('a body over the limit is refused on the wire, declared or chunked, and nothing is written', async () => {
  await using server = await serve({ bodyLimit: 10_000 })
  const big = JSON.stringify({ input: 'x'.repeat(20_000) })
  const declared = await fetch(`${server.url}/workflows/sleeper/runs`, { method: 'POST', body: big })
  const chunked = await fetch(`${server.url}/workflows/sleeper/runs`, {
    method: 'POST',
    body: new Blob([big]).stream(),
    duplex: 'half',
  } as RequestInit)
  expect([declared.status, chunked.status]).toEqual([413, 413])
  expect((await server.local.list()).runs).toEqual([])
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
})

test('a caller who hangs up in the middle of a body is no fault of ours', async () => {
  const logged: unknown[] = []
  await using server = await serve({ log: (...line) => void logged.push(line) })
  const socket = connect(server.port, '127.0.0.1')
  const half = 'POST /workflows/sleeper/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"input"'
  await new Promise((resolve) => socket.write(half, resolve))
  socket.destroy()
  await fetch(`${server.url}/healthz`)
  await server.close()
  expect(logged).toEqual([])
})

test('requests for a foreign host name, or from pages of other sites, are refused', async () => {
  await using server = await serve()
  const status = (headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      request({ host: '127.0.0.1', port: server.port, path: '/workflows', headers }, (response) => {
        response.resume()
        resolve(response.statusCode!)
      })
        .on('error', reject)
        .end()
    })
  expect(await status({ host: 'evil.example' })).toBe(403)
  expect(await status({ origin: 'https://evil.example' })).toBe(403)
  expect(await status({ origin: 'https://localhost.evil.example' })).toBe(403)
  expect(await status({ origin: 'null' })).toBe(403)
  expect(await status({ host: `localhost:${server.port}` })).toBe(200)
  expect(await status({ host: `[::1]:${server.port}` })).toBe(200)
  expect(await status({ origin: 'http://localhost:5173' })).toBe(200)
})

test('a port that is taken is told', async () => {
  await using server = await serve()
  await expect(serve({ port: server.port })).rejects.toThrow(`port ${server.port} on 127.0.0.1 is taken`)
})

test('closing cuts requests that are only held, and leaves a world alone that it did not open', async () => {
  await using local = await Local.open(world)
  const server = await serveLocal({ local, port: 0 })
  const { runId } = await local.start(sleeper, undefined)
  const held = fetch(`${server.url}/runs/${runId}?wait=20s`)
  held.catch(() => {})
  await fetch(`${server.url}/healthz`)
  await server.close(10)
  await expect(held).rejects.toThrow()
  expect((await local.get(runId)).runId).toBe(runId)
})
