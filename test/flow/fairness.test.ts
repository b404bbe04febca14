import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { amount } from '../outside/amount.ts'

const KEYS = amount({ few: 200, many: 1_000 })

/** How long the runs of all keys but the first waited for their start: 99 of 100 no longer. */
async function p99OfOthers(loadOfFirst: number): Promise<number> {
  const waits: number[] = []
  const serve = workflow(
    'serve',
    { concurrency: [{ limit: 300, key: ({ tenant }: { tenant: string }) => tenant }, { limit: 10 }] },
    async (ctx, { tenant }: { tenant: string; at: number }) => {
      await ctx.step('begin', () => void (tenant !== 'first' && waits.push(env.clock.now() - begun)))
      await ctx.sleep('1s')
    },
  )
  const env = await testEnv({ workflows: [serve], tracesCalls: false })
  const begun = env.clock.now()
  for (let i = 0; i < loadOfFirst; i++) await env.client.start(serve, { tenant: 'first', at: i })
  for (let i = 1; i < KEYS; i++) await env.client.start(serve, { tenant: `t${i}`, at: i })
  await env.advance('5m')
  expect(waits).toHaveLength(KEYS - 1)
  return waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.99)]!
}

test('a key with nine tenths of the load makes the others wait no more than twice as long', async () => {
  const alone = await p99OfOthers(0)
  const beside = await p99OfOthers(9 * KEYS)
  expect(alone).toBeGreaterThan(KEYS * 90)
  // In the order of arrival it would be twice as long; the goal is no more than that.
  expect(beside).toBeLessThanOrEqual(alone * 1.2)
})

test('no run starves: one that has waited long goes before a new one of higher priority', async () => {
  const order: string[] = []
  const serve = workflow(
    'serve',
    { concurrency: { limit: 1 }, priority: ({ urgency }: { urgency: number }) => urgency },
    async (ctx, { name }: { name: string; urgency: number }) => {
      await ctx.step('begin', () => void order.push(name))
      await ctx.sleep('1m')
    },
  )
  const env = await testEnv({ workflows: [serve] })
  await env.start(serve, { name: 'first', urgency: 0 })
  await env.start(serve, { name: 'patient', urgency: 0 })
  for (let i = 0; i < 20; i++) {
    await env.start(serve, { name: `urgent ${i}`, urgency: 5 })
    await env.advance('1m')
  }
  const at = order.indexOf('patient')
  expect(at).toBeGreaterThan(1)
  expect(at).toBeLessThanOrEqual(7)
})
