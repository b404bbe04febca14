import { afterAll, beforeAll, expect, test } from 'vitest'
import * as z from 'zod'
import type { LocalServer } from '../../functions/local/serve.ts'
import { workflow } from '../../sdk/index.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { type Output, overwinter, pause } from './fixture.ts'

const asks = workflow('asks', async (ctx) => {
  const first = ctx.callback('first', { timeout: '1h', schema: z.object({ ok: z.boolean() }) })
  const second = ctx.callback('second')
  return Promise.all([first.promise, second.promise.catch((error: Error) => error.message)])
})

let server: LocalServer
beforeAll(async () => {
  server = await serveLocal({ path: ':memory:', workflows: [asks], port: 0, log: () => {} })
})
afterAll(() => server.close(10))

const cli = (...args: string[]): Promise<Output> => overwinter([...args, '--url', server.url])
const waiting = async (id: string) => {
  await server.local.start(asks, undefined, { id })
  while ((await server.local.get(id)).status !== 'waiting') await pause(5)
}

test('callbacks are listed with their links and deadlines, completed by token or link, and failed', async () => {
  await waiting('a')
  const { stdout } = await cli('callbacks', 'list', 'a')
  expect(stdout).toMatch(
    /^first, until .* (UTC|[+-]\d\d:\d\d) \(in (1 h|59 min.*)\)\n {2}\S*\/callbacks\/\S+\nsecond\n {2}\S*\/callbacks\/\S+\n$/,
  )
  const { callbacks } = JSON.parse((await cli('callbacks', 'list', 'a', '--json')).stdout) as {
    callbacks: { name: string; token: string; url: string; until?: string }[]
  }
  const [first, second] = callbacks
  expect([first!.name, second!.name]).toEqual(['first', 'second'])
  expect(Date.parse(first!.until!)).toBeGreaterThan(Date.now())

  expect(await cli('callbacks', 'complete', first!.token, '--result', '{"ok":"yes"}')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('does not fit'),
  })
  expect(await cli('callbacks', 'complete', first!.url, '--result', '{"ok":true}')).toMatchObject({
    code: 0,
    stdout: 'completed\n',
  })
  expect(await cli('callbacks', 'fail', second!.token, '--message', 'out of stock')).toMatchObject({
    code: 0,
    stdout: 'failed\n',
  })
  expect(await server.local.result('a')).toEqual([{ ok: true }, 'out of stock'])

  expect((await cli('callbacks', 'list', 'a')).stdout).toBe('a waits for no callback\n')
  expect(await cli('callbacks', 'complete', first!.token)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('this callback has its answer already'),
  })
  expect(await cli('callbacks', 'list', 'nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no run nobody'),
  })
})

test('one that was answered is not listed any more, while the run waits for the other', async () => {
  await waiting('b')
  const [first] = await server.local.listCallbacks('b')
  await server.local.completeCallback(first!.token, { ok: true })
  while ((await server.local.listCallbacks('b')).length !== 1) await pause(5)
  expect((await server.local.listCallbacks('b')).map(({ name }) => name)).toEqual(['second'])
})
