import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Api } from '../http/fixture.ts'

/** `POST /runs/{id}/cancel`, as the first column of the table has it. */
const ROW = /^\| `((?:POST|PUT|PATCH|DELETE) \/[^`]*)`/gm

test('the guide says of every request what its body looks like; workers have a guide of their own', async () => {
  const guide = readFileSync(new URL('../../docs/deploying.md', import.meta.url), 'utf8')
  const told = [...guide.matchAll(ROW)].map(([, request]) => request!)
  await using api = await Api.open()
  const { paths } = (await api.get('/openapi.json')).body as {
    paths: Record<string, Record<string, { requestBody?: unknown }>>
  }
  const taken = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) =>
      requestBody && !path.startsWith('/v1/') ? [`${method.toUpperCase()} ${path}`] : [],
    ),
  )
  expect(told.toSorted()).toEqual(taken.toSorted())
})
