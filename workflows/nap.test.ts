import { expect, test } from 'vitest'
import { nap } from './nap.ts'
import { allWorkflows, golden } from './test-kit.ts'

test('a nap of a year takes no time in a test', async () => {
  const env = await allWorkflows()
  const run = await env.start(nap, { name: 'Ada', seconds: 365 * 86_400 })
  expect(await run.status()).toBe('sleeping')
  expect(await run.result()).toEqual({ message: 'Ada closed their eyes and slept for 31536000 s' })
  expect(await run.history()).toMatchHistory(golden('nap'))
})

test('a nap of more than a year is refused, and says so', async () => {
  const env = await allWorkflows()
  const run = await env.start(nap, { name: 'Ada', seconds: 366 * 86_400 })
  await expect(run.result()).rejects.toThrow(/365 days/)
})
