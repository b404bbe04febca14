import { expect, test } from 'vitest'
import { overwinter } from '../../cli/fixture.ts'
import { serveLocal } from '../../http/by-the-document.ts'

test('a server without the workflow is told so', async () => {
  await using server = await serveLocal({ path: ':memory:', workflows: [], port: 0, log: () => {} })
  const { code, stdout } = await overwinter(['conformance', '--url', server.url, '--worker-token', 'x'])
  expect(code).toBe(1)
  expect(stdout).toContain("no workflow is named 'conformance'")
})
