import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

test('no more runs than the limit are under way at once, and all of them end', async () => {
  let inside = 0
  let most = 0
  const crawl = workflow('crawl', { concurrency: { limit: 3 } }, async (ctx, n: number) => {
    await ctx.step('in', () => void (most = Math.max(most, ++inside)))
    await ctx.sleep('1m')
    await ctx.step('out', () => void inside--)
    return n
  })
  const env = await testEnv({ workflows: [crawl] })
  const runs = []
  for (let i = 0; i < 20; i++) runs.push(await env.start(crawl, i))
  expect((await env.client.get(runs[10]!.runId)).status).toBe('queued')
  const results: unknown[] = []
  for (const run of runs) results.push(await run.result())
  expect(results).toEqual([...Array(20).keys()])
  expect(most).toBe(3)
})

test('waking a queued run skips no sleep: the first one it comes to is slept', async () => {
  const slow = workflow('slow', { concurrency: { limit: 1 } }, async (ctx) => ctx.sleep('1h'))
  const env = await testEnv({ workflows: [slow] })
  await env.start(slow, undefined)
  const second = await env.start(slow, undefined)
  await expect(env.client.wake(second.runId)).rejects.toThrow('waits for its turn, so there is no sleep to skip')
  await env.advance('90m')
  expect(await second.status()).toBe('sleeping')
})
