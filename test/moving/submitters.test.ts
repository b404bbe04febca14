import { beforeEach, describe, expect, it } from 'vitest'
import { testEnv } from '../../sdk/testing/index.ts'
import { eventsOf } from './events.ts'
import { handedOut } from './examples/outside.ts'
import { submitters } from './examples/submitters.ts'

describe('submitters', () => {
  beforeEach(() => void handedOut.splice(0))

  it('the callback is there before it is handed out: an answer that comes while the submitter is still at it counts', async () => {
    const env = await testEnv({ workflows: [submitters] })
    env.stub('submit', async () => {
      const [asked] = await env.client.listCallbacks('quick')
      await env.client.completeCallback(asked!.token, 'here it is')
    })
    const run = await env.start(submitters, {}, { id: 'quick' })
    expect(await run.result()).toEqual({ answer: 'here it is', success: true })
    expect(await eventsOf(run)).toHaveLength(5) // the run's, the callback's, and one of the step
  })

  it('one that fails is tried again with the same token, in whichever process', async () => {
    const env = await testEnv({ workflows: [submitters] })
    const offered: string[] = []
    env.stub('submit', async () => {
      const [asked] = await env.client.listCallbacks('patient')
      if (offered.push(asked!.token) < 4) throw new Error('not now')
    })
    const run = await env.start(submitters, {}, { id: 'patient' })
    for (let i = 0; i < 4; i++) {
      await env.advance('4s')
      await env.restart()
    }
    expect(offered).toHaveLength(4)
    expect(new Set(offered).size).toBe(1)
    await env.client.completeCallback(offered[0]!, 'thanks')
    expect(await run.result()).toEqual({ answer: 'thanks', success: true })
  })

  it('one that keeps failing fails the run after four attempts, and its token is worth nothing any more', async () => {
    const env = await testEnv({ workflows: [submitters] })
    const run = await env.start(submitters, { isDown: true })
    const failure = await run.result().catch((error: unknown) => error)
    expect(failure).toMatchObject({ cause: { name: 'StepError', attempts: 4, cause: { message: 'nobody takes it' } } })
    expect(handedOut).toEqual([])
    expect(await env.client.listCallbacks(run.runId)).toEqual([])
    expect((await eventsOf(run)).filter((type) => type === 'step.retrying')).toHaveLength(3)
  })
})
