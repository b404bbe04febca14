import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ENVELOPE_BYTES } from '../../functions/http/routes/workers/envelope.ts'
import { TOKEN, WorkerApi } from './fixture.ts'

/** Stands in a path for a task in flight. */
const IN_FLIGHT = '{task}'
const BYSTANDERS = ['bystander.other', 'waiting-bystander.other']

const junk = fc.string({ unit: 'binary', maxLength: 12 })
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  junk,
  fc.constantFrom(0, 1, 2, -1, 1.5, 1e99, 3_600_000, null, true, '90d', '', ['llm'], ['llm', 'llm']),
)
const record = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.record(fields, { requiredKeys: [] }) },
    // What is right but for one field gets further than what is wrong everywhere.
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.record(fields), fc.constantFrom(...Object.keys(fields)), value)
        .map(([good, name, odd]) => ({ ...good, [name]: odd })),
    },
    {
      weight: 1,
      arbitrary: fc.dictionary(fc.constantFrom(...Object.keys(fields), '__proto__', 'constructor', 'toString'), value),
    },
  )

const poll = record({
  task_types: fc.constant(['llm']),
  max_tasks: fc.integer({ min: 1, max: 3 }),
  timeout_ms: fc.constantFrom(0, 1),
  worker_id: fc.constant('w'),
})
const resolve = record({
  action: fc.constantFrom('complete', 'fail', 'pause', 'checkpoint', 'continue'),
  attempt: fc.constantFrom(1, 2, 3),
  iteration: fc.constantFrom(0, 1),
  output: value,
  error: fc.constantFrom('no', 'x'.repeat(10_000)),
  retryable: fc.boolean(),
  name: fc.constant('nap'),
  duration_ms: fc.constantFrom(1, 3_600_000),
  checkpoint: value,
  data: value,
})
const connect = record({
  worker_id: fc.constant('w'),
  task_types: fc.constant(['llm']),
  max_tasks: fc.constant(1),
  language: fc.constant('go'),
  metadata: fc.constant({}),
})
const token = record({ name: fc.constant('t'), task_types: fc.constant(['llm']), expires_in: fc.constantFrom('1d', 1) })

const segment = fc.oneof(
  { weight: 6, arbitrary: fc.constant(IN_FLIGHT) },
  { weight: 1, arbitrary: fc.constantFrom('%', '%2F', '%00', 'x') },
  { weight: 1, arbitrary: junk.map(encode) },
)
const request = fc.oneof(
  { weight: 3, arbitrary: fc.record({ method: fc.constant('POST'), path: fc.constant('/v1/tasks/poll'), body: poll }) },
  {
    weight: 6,
    arbitrary: fc.record({
      method: fc.constant('POST'),
      path: segment.map((id) => `/v1/tasks/${id}/resolve`),
      body: resolve,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ method: fc.constant('POST'), path: fc.constant('/v1/workers/connect'), body: connect }),
  },
  { weight: 1, arbitrary: fc.record({ method: fc.constant('POST'), path: fc.constant('/v1/tokens'), body: token }) },
  {
    weight: 1,
    arbitrary: fc.record({
      method: fc.constantFrom('GET', 'DELETE', 'PUT'),
      path: segment.map((id) => `/v1/tokens/${id}`),
      body: fc.constant(undefined),
    }),
  },
)
/** As it is, or with something done to its text. */
const spoilt = fc.oneof(
  { weight: 8, arbitrary: fc.constant((text: string) => text) },
  { weight: 1, arbitrary: fc.nat().map((at) => (text: string) => text.slice(0, at % (text.length + 1))) },
  { weight: 1, arbitrary: junk.map((other) => () => other) },
  { weight: 1, arbitrary: fc.constant((text: string) => text + ' '.repeat(2 ** 20 + ENVELOPE_BYTES)) },
  { weight: 1, arbitrary: fc.constant(() => `${'['.repeat(2_000)}${']'.repeat(2_000)}`) },
)
const headers = fc.record(
  {
    authorization: fc.oneof(
      { weight: 8, arbitrary: fc.constant(`Bearer ${TOKEN}`) },
      { weight: 1, arbitrary: fc.constantFrom('Bearer', 'Bearer owt_x_y', 'Basic x') },
    ),
    'idempotency-key': fc.constantFrom('k', 'l', 'x'.repeat(101)),
    'content-type': fc.constantFrom('application/json', 'text/plain', 'x/y'),
  },
  { requiredKeys: ['authorization'] },
)

test('no request whatsoever gives a 500, and none changes a task that it does not name', async () => {
  await using api = await WorkerApi.open()
  await api.taken('bystander', { type: 'other', input: { secret: 1 } })
  await api.resolve(BYSTANDERS[0]!, { action: 'checkpoint', data: 'half' })
  await api.asked('waiting-bystander', { type: 'other' })
  const before = await Promise.all(BYSTANDERS.map((id) => api.snapshot(id)))
  let task = await another(api, 'mine')
  let round = 0
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(request, spoilt, headers, async ({ method, path: template, body }, spoil, head) => {
      if ((await api.local.world.tasks.get(task))?.state !== 'taken') task = await another(api, `mine-${++round}`)
      const path = template.replace(IN_FLIGHT, task)
      const text = body === undefined ? undefined : spoil(JSON.stringify(body))
      let response: Response | undefined
      void Promise.resolve(
        api.app.request(path, { method, headers: head, ...(text !== undefined && { body: text }) }),
      ).then((given) => (response = given))
      // A poll may wait for as long as it was told to.
      for (let waited = 0; !response && waited < 100; waited++) await api.pass(waited === 0 ? 0 : 1_000)
      const { status, headers } = response!
      const kind = path.split('/').at(-1)!
      seen.add(`${kind} ${status}`)
      if (headers.get('content-type')?.startsWith('text/event-stream')) await response!.body!.cancel()
      else expect(status, await response!.text()).toBeLessThan(500)
    }),
    { numRuns: 1_000 },
  )
  expect(await Promise.all(BYSTANDERS.map((id) => api.snapshot(id)))).toEqual(before)
  // It reached into the handlers, and did not only bounce off the surface.
  for (const kind of [
    'poll 200',
    'poll 400',
    'poll 401',
    'resolve 200',
    'resolve 400',
    'resolve 401',
    'resolve 404',
    'resolve 409',
    'resolve 413',
  ]) {
    expect(seen).toContain(kind)
  }
  for (const kind of ['connect 200', 'connect 400', 'tokens 201', 'tokens 400']) expect(seen).toContain(kind)
})

/** A task in a worker's hands. */
async function another(api: WorkerApi, runId: string): Promise<string> {
  const id = await api.asked(runId)
  await api.poll({ max_tasks: 100 })
  return id
}

function encode(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    // Half a surrogate pair has no encoding; this is what one would look like.
    return '%ED%A0%80'
  }
}
