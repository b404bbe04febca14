import { expect, it } from 'vitest'
import { testEnv } from '../../sdk/testing/index.ts'
import { eventsOf } from './events.ts'
import { polling } from './examples/polling.ts'

it('condition polling: a round a second until it is so; a crash loses no count, and rounds leave nothing in the journal', async () => {
  const env = await testEnv({ workflows: [polling] })
  const begun = env.clock.now()
  const run = await env.start(polling)
  await env.advance('500ms')
  expect((await run.get()).waitingFor).toEqual([{ kind: 'until', id: 'ready', until: begun + 1_000, round: 1 }])
  await env.restart()
  await env.advance('1s')
  await env.restart()
  expect(await run.result()).toBe(3)
  expect(env.clock.now() - begun).toBe(2_000)
  expect(await eventsOf(run)).toEqual(['run.started', 'step.repeating', 'step.completed', 'run.completed'])
})
