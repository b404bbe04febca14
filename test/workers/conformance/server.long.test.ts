import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { expect, test } from 'vitest'
import { Local } from '../../../sdk/local.ts'
import { conformance } from '../../../workflows/conformance.ts'
import { overwinterProcess } from '../../cli/fixture.ts'
import { createApp, serveLocal } from '../../http/by-the-document.ts'

// Side by side: what takes long is the wait for the second heartbeat.
test.concurrent('our own server keeps to the protocol, and nothing of the suite stays behind', async () => {
  await using server = await serveLocal({ path: ':memory:', workflows: [conformance], port: 0, log: () => {} })
  const { code, stdout, stderr } = await overwinterProcess(['conformance', '--url', server.url])
  expect(code, stdout + stderr).toBe(0)
  expect(stdout.match(/^✓ /gm)).toHaveLength(14)
  const { runs } = await server.local.list({ limit: 1_000 })
  expect(runs.filter(({ endedAt }) => endedAt === undefined)).toEqual([])
  expect(await (await fetch(`${server.url}/v1/tokens`)).json()).toMatchObject({
    tokens: [{ name: 'conformance', state: 'revoked' }],
  })
})

test.concurrent('a server that does not is told what is wrong, by exit code 1', async () => {
  await using local = await Local.open({ path: ':memory:', workflows: [conformance], log: () => {} })
  const app = createApp({ client: local, workerToken: 'ours' })
  /** Adds a field to every task, and never admits that a task has moved on. */
  const odd = createAdaptorServer({
    async fetch(request: Request) {
      const response = await app.fetch(request)
      if (response.status === 409) return new Response('{}', { status: 200 })
      if (!request.url.endsWith('/poll') || response.status !== 200) return response
      const tasks = (await response.json()) as object[]
      return Response.json(tasks.map((task) => ({ ...task, type: 'conformance' })))
    },
  })
  await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve))
  try {
    const url = `http://127.0.0.1:${(odd.address() as AddressInfo).port}`
    const { code, stdout } = await overwinterProcess(['conformance', '--url', url, '--worker-token', 'ours'])
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^✗ a task has the fields of the protocol and no others: the task should be .*, and is .*"type":"conformance"/m,
    )
    expect(stdout).toMatch(/^✗ a worker that falls silent .*should be answered with 409, and was with 200$/m)
    expect(stdout).toMatch(/^✓ complete gives the run its output$/m)
  } finally {
    odd.close()
    if ('closeAllConnections' in odd) odd.closeAllConnections()
  }
})
