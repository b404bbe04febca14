import { beforeEach, describe, expect, it } from 'vitest'
import { GoneError } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { eventsOf } from './events.ts'
import { heartbeat } from './examples/heartbeat.ts'
import { handedOut } from './examples/outside.ts'

describe('callbacks with heartbeat', () => {
  beforeEach(() => void handedOut.splice(0))

  it('signs of life keep it open for as long as they come, and leave nothing in the journal', async () => {
    const env = await testEnv({ workflows: [heartbeat] })
    const run = await env.start(heartbeat)
    for (let i = 0; i < 20; i++) {
      await env.advance('14s')
      await env.client.heartbeatCallback(handedOut[0]!)
      if (i % 5 === 0) await env.restart()
    }
    expect(await run.status()).toBe('waiting')
    await env.client.completeCallback(handedOut[0]!, { processed: 1_000 })
    expect(await run.result()).toEqual({ answer: { processed: 1_000 }, completed: true })
    expect(handedOut).toHaveLength(1)
    expect(await eventsOf(run)).toEqual([
      'run.started',
      'callback.created',
      'step.completed',
      'callback.completed',
      'run.completed',
    ])
  })

  it('without one it fails, says why, and takes no answer any more', async () => {
    const env = await testEnv({ workflows: [heartbeat] })
    const run = await env.start(heartbeat)
    await env.advance('14s')
    await env.client.heartbeatCallback(handedOut[0]!)
    await env.advance('14999ms')
    expect(await run.status()).toBe('waiting')
    await env.advance('1ms')
    const failure = await run.result().catch((error: unknown) => error)
    expect(failure).toMatchObject({
      cause: { name: 'TimeoutError', message: "callback 'job' gave no sign of life for 15 s" },
    })
    await expect(env.client.completeCallback(handedOut[0]!, 'late')).rejects.toThrow(GoneError)
  })
})
