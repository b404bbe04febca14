import { expect, test } from 'vitest'
import { limit, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { specInWords } from '../../sdk/views/limit-words.ts'
import { about } from '../../sdk/views/moments.ts'
import { resumeCommand, turnOf } from '../../sdk/views/turn.ts'

const order = workflow(
  'order',
  { concurrency: { limit: 1, key: ({ tenant }) => tenant } },
  async (ctx, _: { tenant: string }) => ctx.sleep('work', '3m'),
)

async function fourOrders() {
  const env = await testEnv({ workflows: [order] })
  for (const id of ['o1', 'o2', 'o3', 'o4']) await env.start(order, { tenant: 'tenant-7' }, { id })
  await env.settle()
  return env
}

test('a queued run says at which limit it waits, for whom, its place and when it is expected, and how to raise the limit', async () => {
  const env = await fourOrders()
  expect((await env.client.why('o4')).reason).toBe(
    "waits for its turn at limit 'order:concurrency' for 'tenant-7' (place 3)",
  )
  await env.advance('3m')
  expect(await env.client.why('o4')).toEqual({
    reason: "waits for its turn at limit 'order:concurrency' for 'tenant-7' (place 2, expected in about 6 min)",
    waits: [
      {
        ...{ kind: 'queue', id: '', on: 'order:concurrency', evidence: [] },
        what: "its turn at limit 'order:concurrency' for 'tenant-7' (place 2, expected in about 6 min)",
      },
    ],
    remedies: [
      {
        what: 'raise the limit, which is 1 at once',
        command: 'overwinter limits set order:concurrency --concurrency …',
      },
      { what: 'see what is inside, and what is queued', command: 'overwinter limits show order:concurrency' },
    ],
  })
})

test('of a limit that is paused, the remedy is to resume it', async () => {
  const env = await fourOrders()
  await env.client.limits.pause('order:concurrency')
  const { reason, remedies } = await env.client.why('o2')
  expect(reason).toBe("waits for its turn at limit 'order:concurrency' for 'tenant-7', which is paused (place 1)")
  expect(remedies).toEqual([
    { what: "resume limit 'order:concurrency'", command: 'overwinter limits resume order:concurrency' },
  ])
})

test.each([
  [{ all: true }, 'everything', 'overwinter resume --all'],
  [{ workflow: 'nap time' }, "workflow 'nap time'", "overwinter resume 'nap time'"],
  [{ run: 'n1' }, "run 'n1'", 'overwinter resume --run n1'],
] as const)(
  'a run that is held back by a pause says of what, and how to resume it: %j',
  async (scope, words, command) => {
    const nap = workflow('nap time', async (ctx) => ctx.sleep('1h'))
    const env = await testEnv({ workflows: [nap] })
    await env.start(nap, undefined, { id: 'n1' })
    await env.settle()
    await env.client.pause(scope)
    await env.advance('2h')
    const { reason, waits, remedies } = await env.client.why('n1')
    expect(reason).toBe(`waits for the end of the pause of ${words} (place 1)`)
    expect(waits).toHaveLength(1)
    expect(remedies).toEqual([{ what: `let ${words} go on`, command }])
  },
)

test.each([
  [{ all: true }, 'everything', 'overwinter resume --all'],
  [{ workflow: 'order' }, "workflow 'order'", 'overwinter resume order'],
  [{ run: 'o4' }, "run 'o4'", 'overwinter resume --run o4'],
] as const)(
  'a run in line at a limit that is paused as well says so, expects nothing, and the remedy is to resume it: %j',
  async (scope, words, command) => {
    const env = await fourOrders()
    await env.advance('3m')
    await env.client.pause(scope)
    expect((await env.client.get('o4')).queue).toEqual({
      limit: 'order:concurrency',
      key: 'tenant-7',
      place: { count: 2 },
      paused: false,
      pause: scope,
    })
    const { reason, remedies } = await env.client.why('o4')
    expect(reason).toBe(
      `waits for its turn at limit 'order:concurrency' for 'tenant-7' (place 2), while ${words} is paused`,
    )
    expect(remedies).toEqual([{ what: `let ${words} go on`, command }])
    await env.client.resume(scope)
    expect((await env.client.get('o4')).queue).toMatchObject({ expectedAt: expect.any(Number) })
  },
)

test('of a run in line whose limit is paused as well as its workflow, both are to be resumed', async () => {
  const env = await fourOrders()
  await env.client.limits.pause('order:concurrency')
  await env.client.pause({ workflow: 'order' })
  expect((await env.client.why('o4')).remedies.map(({ command }) => command)).toEqual([
    'overwinter resume order',
    'overwinter limits resume order:concurrency',
  ])
})

test('the first run over a rate says at which limit it waits, and when it starts, as it was promised', async () => {
  const mail = workflow('mail', { rateLimit: { limit: 1, per: '1h', key: () => 'news' } }, async (ctx) =>
    ctx.step('send', () => 1),
  )
  const env = await testEnv({ workflows: [mail] })
  for (const id of ['m1', 'm2', 'm3']) await env.start(mail, undefined, { id })
  await env.settle()
  const { status, wakeAt, queue } = await env.client.get('m2')
  expect(status).toBe('pending')
  expect(queue).toEqual({ limit: 'mail:rate', key: 'news', place: { count: 1 }, expectedAt: wakeAt, paused: false })
  const what = "its turn at limit 'mail:rate' for 'news' (place 1, expected in about 1 h)"
  const { reason, waits, remedies } = await env.client.why('m2')
  expect(reason).toBe(`waits for ${what}`)
  expect(waits).toMatchObject([{ kind: 'queue', on: 'mail:rate', what, until: wakeAt }])
  expect(remedies[0]).toEqual({
    what: 'raise the limit, which is 1 in 1 h',
    command: 'overwinter limits set mail:rate --rate …',
  })
  expect((await env.client.get('m3')).queue).toMatchObject({ limit: 'mail:rate', place: { count: 1 } })
  expect((await env.client.get('m1')).queue).toBeUndefined()
  await env.client.pause({ workflow: 'mail' })
  const held = await env.client.why('m2')
  expect(held.reason).toBe(
    "waits for its turn at limit 'mail:rate' for 'news' (place 1), while workflow 'mail' is paused",
  )
  expect(held.remedies).toEqual([{ what: "let workflow 'mail' go on", command: 'overwinter resume mail' }])
})

test('a run that is to start later, or tries again, waits at no limit', async () => {
  const mail = workflow(
    'mail',
    { rateLimit: { limit: 5, per: '1h' }, retry: { attempts: 2, initial: '1h' } },
    async () => {
      throw new Error('no')
    },
  )
  const env = await testEnv({ workflows: [mail] })
  await env.start(mail, undefined, { id: 'later', delay: '1h' })
  await env.start(mail, undefined, { id: 'again' })
  await env.settle()
  for (const [id, start] of [
    ['later', 'its start'],
    ['again', 'attempt 2 of the whole run'],
  ] as const) {
    expect(await env.client.get(id)).toMatchObject({ status: 'pending', wakeAt: expect.any(Number) })
    expect((await env.client.get(id)).queue).toBeUndefined()
    expect((await env.client.why(id)).reason).toBe(`waits for ${start}`)
  }
})

test('a step that waits at a limit has its place in line as evidence', async () => {
  const openai = limit('openai', { concurrency: 1, rate: 100, per: '1m' })
  const ask = workflow('ask', async (ctx) => ctx.step('ask', () => 1, { limit: openai.for('gpt') }))
  const slow = workflow('slow', async (ctx) => ctx.task('llm', 1, { limit: openai.for('gpt') }))
  const env = await testEnv({ workflows: [ask, slow] })
  await env.start(slow, undefined, { id: 'inside' })
  await env.settle()
  await env.start(ask, undefined, { id: 'a1' })
  await env.start(ask, undefined, { id: 'a2' })
  await env.settle()
  const { reason, waits, remedies } = await env.client.why('a2')
  expect(reason).toBe("waits for limit 'openai' for 'gpt' to let 'ask' in")
  expect(waits).toMatchObject([{ kind: 'limit', on: 'openai', evidence: ['place 2'] }])
  expect(remedies[0]).toEqual({
    what: 'raise the limit, which is 1 at once, 100 in 1 min',
    command: 'overwinter limits set openai --concurrency … --rate …',
  })
  await env.client.limits.pause('openai')
  expect((await env.client.why('a2')).waits[0]!.evidence).toEqual(["limit 'openai' is paused; place 2"])
  await env.client.limits.resume('openai')
  await env.client.pause({ workflow: 'ask' })
  const held = await env.client.why('a2')
  expect(held.waits[0]!.evidence).toEqual(["workflow 'ask' is paused; place 2"])
  expect(held.remedies).toEqual([{ what: "let workflow 'ask' go on", command: 'overwinter resume ask' }])
})

test('one at a time is what a singleton is for, so raising it is no remedy', async () => {
  const w = workflow('w', { singleton: { key: () => 'one', onConflict: 'queue-latest' } }, async (ctx) =>
    ctx.sleep('1h'),
  )
  const env = await testEnv({ workflows: [w] })
  await env.start(w, undefined)
  await env.start(w, undefined, { id: 'next' })
  await env.settle()
  expect((await env.client.why('next')).remedies).toEqual([
    { what: 'see what is inside, and what is queued', command: 'overwinter limits show w:singleton' },
  ])
})

test('places and times are said as one says them', () => {
  const at = { limit: 'l', paused: false }
  expect(turnOf({ ...at, place: { count: 1_000, isMore: true } }, 0)).toBe("its turn at limit 'l' (place behind 1,000)")
  expect(turnOf({ ...at, place: { count: 1 }, expectedAt: 5 }, 5)).toBe(
    "its turn at limit 'l' (place 1, expected any moment)",
  )
  expect(turnOf({ limit: 'pause:all', paused: false, place: { count: 40 }, expectedAt: 2_000 }, 0)).toBe(
    'its turn after the pause of everything (place 40, expected in about 2 s)',
  )
  expect([300, 58_000, 61_000, 178_000, 3_500_000, 100 * 3_600_000].map(about)).toEqual([
    '1 s',
    '1 min',
    '1 min',
    '3 min',
    '1 h',
    '4 d',
  ])
  expect([specInWords({ concurrency: 1_000, rate: 5, perMs: 90_000 }), specInWords({})]).toEqual([
    '1,000 at once, 5 in 1 min 30 s',
    'unlimited',
  ])
})

test.each([
  ['order', 'overwinter resume order'],
  ["it's; rm -rf ~", "overwinter resume 'it'\\''s; rm -rf ~'"],
  ['--all', 'overwinter resume -- --all'],
])('a command is safe to paste, whatever the workflow is named: %s', (workflow, command) => {
  expect(resumeCommand({ workflow })).toBe(command)
})
