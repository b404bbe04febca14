import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ROUTES } from '../../functions/http/app.ts'
import { Api } from './fixture.ts'

const segment = fc.oneof(
  fc.constantFrom('order', 'sleeper', 'approval', 'flaky', 'r1', 'nope', '%', '%2F', '%00'),
  fc.string({ unit: 'binary', maxLength: 12 }).map(encode),
)
const path = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(fc.constantFrom(...ROUTES.map((route) => route.path)), segment, segment).map(([template, ...given]) => fill(template, given)),
  },
  { weight: 1, arbitrary: fc.array(segment, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`) },
)
const query = fc.dictionary(
  fc.constantFrom('workflow', 'status', 'tag', 'from', 'to', 'cursor', 'limit', 'wait'),
  fc.oneof(fc.constantFrom('1ms', '-1', '0', '50', '1e99', 'failed', '2026-01-01'), fc.string({ unit: 'binary', maxLength: 10 }).map(encode)),
  { maxKeys: 3 },
)
const field = fc.constantFrom('input', 'id', 'startAt', 'delay', 'tags', 'version', 'from', 'reason', 'result', 'error', '__proto__', 'constructor')
const body = fc.oneof(
  fc.dictionary(field, fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('r1', 'a', 1, { message: 'x' }))).map((value) => JSON.stringify(value)),
  fc.json(),
  fc.string({ unit: 'binary' }),
  fc.constant(''),
)
const headers = fc.dictionary(
  fc.constantFrom('content-type', 'idempotency-key', 'content-length', 'accept'),
  fc.constantFrom('application/json', 'k', '5', '-5', 'x/y', ''),
)

test('no request whatsoever gives a 500', async () => {
  await using api = await Api.open()
  await api.local.start('order', { id: 'o', cents: 1 }, { id: 'r1' })
  const statuses = new Set<number>()
  const request = fc.tuple(fc.constantFrom('GET', 'POST', 'POST', 'POST', 'PUT', 'OPTIONS'), path, query, headers, body)
  await fc.assert(
    fc.asyncProperty(request, async ([method, where, params, head, text]) => {
      const url = `http://localhost${where}?${Object.entries(params)
        .map(([name, value]) => `${name}=${value}`)
        .join('&')}`
      const response = await api.app.request(url, { method, headers: head, ...(method !== 'GET' && { body: text }) })
      statuses.add(response.status)
      const answer = await response.text()
      expect(response.status, answer).toBeLessThan(500)
      if (response.status >= 400) expect(JSON.parse(answer)).toMatchObject({ type: expect.stringMatching(/^https:/), status: response.status })
    }),
    { numRuns: 1_000 },
  )
  // It reached into the handlers, and did not only bounce off the surface.
  for (const status of [200, 201, 202, 400, 404, 405, 409, 415]) expect(statuses).toContain(status)
})

function fill(template: string, given: string[]): string {
  return template.replaceAll(/\{\w+\}/g, () => given.shift() ?? 'x')
}

function encode(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return '%ED%A0%80'
  }
}
