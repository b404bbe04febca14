import { expect, it } from 'vitest'
import { testEnv } from '../../sdk/testing/index.ts'
import { eventsOf } from './events.ts'
import { waits } from './examples/waits.ts'

it('waits: each takes its time, also if the process dies in the middle of it', async () => {
  const env = await testEnv({ workflows: [waits] })
  const begun = env.clock.now()
  const run = await env.start(waits)
  await env.advance('3s')
  await env.restart()
  await env.advance('4s')
  expect((await run.get()).waitingFor).toEqual([{ kind: 'sleep', id: 'second', until: begun + 10_000 }])
  await env.restart()
  expect(await run.result()).toEqual({ waited: 2, last: 'second' })
  expect(env.clock.now() - begun).toBe(10_000)
  expect(await eventsOf(run)).toEqual([
    'run.started',
    'sleep.started',
    'sleep.completed',
    'sleep.started',
    'sleep.completed',
    'run.completed',
  ])
})
