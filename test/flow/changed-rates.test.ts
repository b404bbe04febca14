import { expect, test } from 'vitest'
import { type Context, limit, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

test('a limit that is paused and resumed, or set to the numbers it has, keeps its rate', async () => {
  const times: number[] = []
  const w = workflow('w', { rateLimit: { limit: 5, per: '1m' } }, async (ctx) =>
    ctx.step('go', () => void times.push(env.clock.now())),
  )
  const env = await testEnv({ workflows: [w] })
  for (let i = 0; i < 40; i++) await env.start(w, undefined)
  await env.settle()
  expect(times).toHaveLength(5)
  for (let i = 0; i < 4; i++) {
    await env.client.limits.pause('w:rate')
    await env.client.limits.resume('w:rate')
    await env.client.limits.set('w:rate', { rate: 5 })
    await env.settle()
  }
  await env.advance('30s')
  expect(times).toHaveLength(5)
})

test('a rate that is set to another period grants starts within that period', async () => {
  const api = limit('longer', { rate: 5, per: '1m' })
  const times: number[] = []
  const call = workflow('call', async (ctx) => ctx.step('call', () => void times.push(env.clock.now()), { limit: api }))
  const env = await testEnv({ workflows: [call] })
  for (let i = 0; i < 5; i++) await (await env.start(call, undefined)).result()
  await env.client.limits.set('longer', { rate: 5, per: '1h' })
  const run = await env.start(call, undefined)
  await env.advance('3h')
  expect(await run.status()).toBe('completed')
})

test('a shorter period that is set does not forget recent starts', async () => {
  const api = limit('shorter', { rate: 5, per: '1h' })
  const times: number[] = []
  const call = workflow('call', async (ctx) => ctx.step('call', () => void times.push(env.clock.now()), { limit: api }))
  const env = await testEnv({ workflows: [call] })
  for (let i = 0; i < 5; i++) await (await env.start(call, undefined)).result()
  for (let i = 0; i < 5; i++) await env.start(call, undefined)
  await env.settle()
  await env.client.limits.set('shorter', { rate: 5, per: '59m' })
  await env.advance('30m')
  expect(times.length).toBe(5)
})

test('code with another period than before grants starts within that period', async () => {
  const before = workflow('w', { rateLimit: { limit: 5, per: '1m' } }, async (_, n: number) => n)
  const after = workflow('w', { rateLimit: { limit: 5, per: '1h' } }, async (_, n: number) => n)
  const env = await testEnv({ workflows: [before] })
  for (let i = 0; i < 5; i++) await (await env.start(before, i)).result()
  await env.restart([after])
  const run = await env.start(after, 9)
  await env.advance('3h')
  expect(await run.status()).toBe('completed')
})

test('a pause does not make more runs start than their rate has', async () => {
  const times: number[] = []
  const w = workflow('w', { rateLimit: { limit: 1, per: '1m' } }, async (ctx) =>
    ctx.step('go', () => void times.push(env.clock.now())),
  )
  const env = await testEnv({ workflows: [w] })
  await env.client.pause({ workflow: 'w' })
  for (let i = 0; i < 30; i++) await env.start(w, undefined)
  await env.advance('1h')
  expect(times).toEqual([])
  await env.client.resume({ workflow: 'w' })
  await env.advance('1h')
  expect(times).toHaveLength(30)
  const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 60_000).length))
  expect(most).toBe(1)
})

test('paused again while resumed, the next resume keeps its rate', async () => {
  const times: number[] = []
  const w = workflow('w', async (ctx) => ctx.step('go', () => void times.push(env.clock.now())))
  const env = await testEnv({ workflows: [w] })
  await env.client.pause({ all: true })
  for (let i = 0; i < 320; i++) await env.start(w, undefined)
  await env.settle()
  await env.client.resume({ all: true }, { perSecond: 10 })
  await env.advance('2s')
  await env.client.pause({ all: true })
  await env.advance('1m')
  const before = times.length
  const at = env.clock.now()
  await env.client.resume({ all: true }, { perSecond: 10 })
  await env.advance('10m')
  expect(times).toHaveLength(320)
  const rate = (320 - before) / ((times.at(-1)! - at) / 1_000)
  expect(rate).toBeGreaterThan(9)
})

test('a rate that a deployment adds counts for runs that wait for another limit first', async () => {
  const begun: number[] = []
  const body = async (ctx: Context) => {
    await ctx.step('go', () => void begun.push(env.clock.now()))
    await ctx.sleep('inside', '1m')
  }
  const before = workflow('w', { concurrency: { limit: 1 } }, body)
  const after = workflow('w', { concurrency: { limit: 1 }, rateLimit: { limit: 1, per: '1h' } }, body)
  const env = await testEnv({ workflows: [before] })
  await env.start(before, undefined)
  await env.settle()
  await env.restart([after])
  for (let i = 0; i < 3; i++) await env.start(after, undefined)
  await env.advance('59m')
  expect(begun).toHaveLength(2)
})
