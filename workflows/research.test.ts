import { testEnv } from 'overwinter/testing'
import type { WorkerTask } from 'overwinter/worker'
import { expect, test } from 'vitest'
import { research } from './research.ts'

/** Stands in for the agent: a note for each letter of the topic. */
function spell({ input, iteration, lastCheckpoint, goOn }: WorkerTask<{ topic: string }>) {
  const notes = [
    ...((lastCheckpoint as object[] | undefined) ?? []),
    { subject: input.topic[iteration], fact: `letter ${iteration + 1}` },
  ]
  return notes.length < input.topic.length ? goOn(notes) : { notes, thoughts: iteration + 1 }
}

test('an agent outside thinks until it is done, across a restart, and a step writes up what it found', async () => {
  const env = await testEnv({ workflows: [research] })
  const run = await env.start(research, { topic: 'ice', most: 3 })
  expect(await run.get()).toMatchObject({ status: 'waiting', waitingFor: [{ kind: 'task', on: 'research' }] })
  await env.restart()
  env.worker('research', spell)
  expect(await run.result()).toEqual({ thoughts: 3, report: 'i: letter 1; c: letter 2; e: letter 3' })
  const types = (await run.history()).map(({ type }) => type)
  expect(types).toEqual(['run.started', 'task.dispatched', 'task.completed', 'step.completed', 'run.completed'])
})

test('an agent that thinks more often than it may is stopped', async () => {
  const env = await testEnv({ workflows: [research] })
  env.worker('research', spell)
  const run = await env.start(research, { topic: 'winter', most: 5 })
  await expect(run.result()).rejects.toThrow('asked for more than its 5 iterations')
})
