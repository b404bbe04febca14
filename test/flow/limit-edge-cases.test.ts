import { expect, test } from 'vitest'
import { limit, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { timePasses } from './time-passes.ts'

test.each(['constructor', 'toString', 'valueOf'])(
  "a run with the id '%s' comes to its limit like others",
  async (id) => {
    const w = workflow('w', { concurrency: { limit: 1 } }, async (ctx) => ctx.sleep('1h'))
    const env = await testEnv({ workflows: [w] })
    const first = await env.start(w, undefined)
    const odd = await env.start(w, undefined, { id })
    expect([await first.status(), await odd.status()]).toEqual(['sleeping', 'queued'])
    await odd.result()
  },
)

test('the fairness key is the tenant, also where the workflow is a singleton by another key', async () => {
  const order: string[] = []
  const w = workflow(
    'w',
    {
      singleton: { key: ({ doc }: { doc: string; tenant: string }) => doc, onConflict: 'queue-latest' },
      concurrency: [{ limit: 100, key: ({ tenant }) => tenant }, { limit: 1 }],
    },
    async (ctx, { tenant }: { doc: string; tenant: string }) => {
      await ctx.step('go', () => void order.push(tenant))
      await ctx.sleep('1m')
    },
  )
  const env = await testEnv({ workflows: [w] })
  const runs = []
  for (let i = 0; i < 60; i++) runs.push(await env.start(w, { doc: `a${i}`, tenant: 'a' }))
  for (let i = 0; i < 3; i++) runs.push(await env.start(w, { doc: `b${i}`, tenant: 'b' }))
  for (const run of runs) await run.result()
  const places = order.flatMap((tenant, i) => (tenant === 'b' ? [i] : []))
  expect(Math.max(...places)).toBeLessThan(8)
})

/** How often the steps of one run request their permits, and how often the run reads where they stand. */
async function asked(n: number): Promise<{ requests: number; looks: number }> {
  const all = workflow('all', async (ctx) => {
    await ctx.map(
      'each',
      Array.from({ length: n }, (_, i) => i),
      (c) =>
        c.step('go', () => timePasses(env, 1_000), {
          limit: limit('o-map', { concurrency: 2 }),
        }),
      { concurrency: 1_000 },
    )
  })
  const env = await testEnv({ workflows: [all] })
  const [commit, standings] = [env.store.commit.bind(env.store), env.store.standings.bind(env.store)]
  let [requests, looks] = [0, 0]
  env.store.commit = (made) => {
    requests += made.outgoing?.filter(({ kind }) => kind === 'acquire').length ?? 0
    return commit(made)
  }
  env.store.standings = (...args) => {
    looks++
    return standings(...args)
  }
  await env.restart()
  await (await env.start(all, undefined)).result()
  return { requests, looks }
}

test('each of many steps of one run asks for its permit once', async () => {
  expect((await asked(40)).requests).toBe(40)
})

test('a message has all waiting steps of a run looked up with one read, however many there are', async () => {
  expect((await asked(160)).looks / 160).toBeLessThan(1)
})

test('a debounced run holds no slot while it waits for quiet', async () => {
  const done: string[] = []
  const w = workflow(
    'w',
    { debounce: { key: ({ doc }) => doc, wait: '1m' }, concurrency: { limit: 1 } },
    async (ctx, { doc }: { doc: string }) => {
      await ctx.step('go', () => void done.push(doc))
      await ctx.sleep('3m')
    },
  )
  const env = await testEnv({ workflows: [w] })
  await env.start(w, { doc: 'a' })
  await env.advance('61s')
  await env.start(w, { doc: 'busy' })
  await env.advance('1s')
  await env.start(w, { doc: 'quiet' })
  for (let i = 0; i < 40; i++) {
    await env.advance('30s')
    await env.start(w, { doc: 'busy' })
  }
  expect(done).toContain('quiet')
})

test('a limit with a key holds for the input that the debounced run gets', async () => {
  const inside = new Map<string, number>()
  let most = 0
  const w = workflow(
    'w',
    { debounce: { key: ({ doc }) => doc, wait: '1m' }, concurrency: { limit: 1, key: ({ tenant }) => tenant } },
    async (ctx, { tenant }: { doc: string; tenant: string }) => {
      await ctx.step('in', () => {
        inside.set(tenant, (inside.get(tenant) ?? 0) + 1)
        most = Math.max(most, inside.get(tenant)!)
      })
      await ctx.sleep('1h')
      await ctx.step('out', () => void inside.set(tenant, inside.get(tenant)! - 1))
    },
  )
  const env = await testEnv({ workflows: [w] })
  const one = await env.start(w, { doc: '1', tenant: 'a' })
  await env.start(w, { doc: '2', tenant: 'b' })
  const two = await env.start(w, { doc: '2', tenant: 'a' })
  await one.result()
  await two.result()
  expect(most).toBe(1)
})

test('a run queues by when it is admitted to the queue', async () => {
  const w = workflow('w', { concurrency: [{ limit: 100, key: (t: string) => t }, { limit: 1 }] }, async (ctx) =>
    ctx.sleep('1m'),
  )
  const env = await testEnv({ workflows: [w] })
  for (const big of ['a', 'c', 'e', 'g']) for (let i = 0; i < 20; i++) await env.start(w, big)
  const small = await env.start(w, 'b')
  const { queue } = await small.get()
  expect(queue!.place.count).toBeLessThanOrEqual(5)
})
