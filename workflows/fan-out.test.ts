import { expect, test } from 'vitest'
import { fanOut } from './fan-out.ts'
import { allWorkflows, golden } from './test-kit.ts'

test('a hundred items, ten at a time', async () => {
  const env = await allWorkflows()
  const run = await env.start(fanOut, { items: 100, concurrency: 10 })
  expect(await run.result()).toEqual({ count: 100, sum: 328_350 })
})

test('the history of a small one', async () => {
  const env = await allWorkflows()
  const run = await env.start(fanOut, { items: 4, concurrency: 2 })
  expect(await run.result()).toEqual({ count: 4, sum: 14 })
  expect(await run.history()).toMatchHistory(golden('fan-out'))
})
