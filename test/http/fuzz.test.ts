import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ROUTES } from '../../functions/http/app.ts'
import { Api } from './fixture.ts'

const junk = fc.string({ unit: 'binary', maxLength: 12 }).map(encode)
const workflowName = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('order', 'sleeper', 'approval', 'flaky') },
  { weight: 1, arbitrary: junk },
)
const segment = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('r1', 'r2', 'x') },
  { weight: 1, arbitrary: fc.constantFrom('%', '%2F', '%00') },
  { weight: 1, arbitrary: junk },
)

/** Mostly what exists, so that the handlers are reached. */
const target = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom(...ROUTES), workflowName, segment, segment)
      .map(([{ method, path }, name, ...given]) => ({
        method,
        path: path
          .replace('/workflows/{name}', `/workflows/${name}`)
          .replaceAll(/\{\w+\}/g, () => given.shift() ?? 'x'),
      })),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'),
      path: fc.array(segment, { maxLength: 5 }).map((parts) => `/runs/${parts.join('/')}`),
    }),
  },
)
const query = fc.dictionary(
  fc.constantFrom('workflow', 'status', 'tag', 'from', 'to', 'cursor', 'limit', 'wait'),
  fc.oneof(fc.constantFrom('1ms', '-1', '0', '50', '1e99', 'failed', '2026-01-01'), junk),
  { maxKeys: 2 },
)
const field = fc.constantFrom(
  'input',
  'id',
  'startAt',
  'delay',
  'tags',
  'version',
  'from',
  'reason',
  'result',
  'error',
  '__proto__',
  'constructor',
)
const body = fc.oneof(
  fc.constant(''),
  fc.jsonValue({ maxDepth: 3 }).map((input) => JSON.stringify({ input })),
  fc
    .dictionary(field, fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('r1', 'a', 1, { message: 'x' })))
    .map((value) => JSON.stringify(value)),
  fc.json(),
  fc.string({ unit: 'binary' }),
)
const headers = fc.dictionary(
  fc.constantFrom('content-type', 'idempotency-key', 'content-length', 'accept'),
  fc.constantFrom('application/json', 'k', '5', '-5', 'x/y', ''),
  { maxKeys: 2 },
)

test('no request whatsoever gives a 500', async () => {
  await using api = await Api.open()
  await api.local.start('order', { id: 'o', cents: 1 }, { id: 'r1' })
  /** Requests end it, and erase it; there is to be an open run all the time. */
  const openRun = async () => {
    await api.local.terminate('r2').catch(() => {})
    await api.local.erase('r2').catch(() => {})
    await api.local.start('sleeper', undefined, { id: 'r2' })
  }
  let requests = 0
  const statuses = new Set<number>()
  await fc.assert(
    fc.asyncProperty(target, query, headers, body, async ({ method, path }, params, head, text) => {
      if (requests++ % 40 === 0) await openRun()
      const search = Object.entries(params).map(([name, value]) => `${name}=${value}`)
      // Who asks a run that does not reply waits as long as a gateway lets them, unless they say otherwise.
      if (path.includes('/requests/') && !('wait' in params)) search.push('wait=1ms')
      const response = await api.app.request(`http://localhost${path}?${search.join('&')}`, {
        method,
        headers: head,
        ...(method !== 'GET' && { body: text }),
      })
      statuses.add(response.status)
      const answer = await response.text()
      expect(response.status, answer).toBeLessThan(500)
      // The page of a callback is for people.
      const isPage = path.startsWith('/callbacks/') && response.headers.get('content-type')?.startsWith('text/html')
      if (response.status >= 400 && !isPage)
        expect(JSON.parse(answer)).toMatchObject({
          type: expect.stringMatching(/^urn:overwinter:problem:/),
          status: response.status,
        })
    }),
    { numRuns: 2_000 },
  )
  // It reached into the handlers, and did not only bounce off the surface.
  for (const status of [200, 201, 202, 400, 404, 405, 409, 415]) expect(statuses).toContain(status)
})

function encode(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    // Half a surrogate pair has no encoding; this is what one would look like.
    return '%ED%A0%80'
  }
}
