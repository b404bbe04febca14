import { expect, test } from 'vitest'
import { flaky } from './flaky.ts'
import { allWorkflows, golden } from './test-kit.ts'

test('the third attempt succeeds, and between attempts the run sleeps', async () => {
  const env = await allWorkflows()
  const run = await env.start(flaky, { failures: 2 })
  expect(await run.status()).toBe('sleeping')
  expect(await run.result()).toEqual({ attempts: 3 })
  expect(await run.history()).toMatchHistory(golden('flaky'))
})

test('after five attempts it gives up; retried by hand it goes on', async () => {
  const env = await allWorkflows()
  const run = await env.start(flaky, { failures: 5 })
  await expect(run.result()).rejects.toThrow('failed after 5 attempts')
  env.stub('call-a-shaky-service', () => 6)
  await env.client.retry(run.runId)
  expect(await run.result()).toEqual({ attempts: 6 })
})
