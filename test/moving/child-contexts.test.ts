import { expect, it } from 'vitest'
import { testEnv } from '../../sdk/testing/index.ts'
import { childContexts } from './examples/child-contexts.ts'

it('child contexts: scopes have names of their own in the journal, and what was done in one is not done again', async () => {
  const env = await testEnv({ workflows: [childContexts] })
  let ran = 0
  env.stub('work', () => `done ${++ran} times`)
  const run = await env.start(childContexts)
  expect((await run.get()).waitingFor).toMatchObject([{ kind: 'sleep', id: 'outer/inner/sleep' }])
  await env.restart()
  expect(await run.result()).toEqual({ step: 'done 1 times', scope: 'done in the inner scope' })
  expect(ran).toBe(1)
  expect((await run.history()).flatMap((event) => ('id' in event ? [`${event.type} ${event.id}`] : []))).toEqual([
    'step.completed outer/work',
    'sleep.started outer/inner/sleep',
    'sleep.completed outer/inner/sleep',
  ])
})
