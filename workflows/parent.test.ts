import { expect, test } from 'vitest'
import { parent } from './parent.ts'
import { allWorkflows, golden } from './test-kit.ts'

test('a parent waits for its children', async () => {
  const env = await allWorkflows()
  const run = await env.start(parent, { cities: ['Oslo', 'Umeå', 'Tromsø'] })
  expect((await run.get()).waitingFor).toHaveLength(3)
  expect(await run.result()).toEqual({ letters: 14 })
  expect(await run.history()).toMatchHistory(golden('parent'))
})
