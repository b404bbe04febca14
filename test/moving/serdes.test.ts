import { beforeEach, describe, expect, it } from 'vitest'
import { MisfitError } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { handedOut } from './examples/outside.ts'
import { serdes } from './examples/serdes.ts'

const sent = { id: 42, text: 'hello', at: '2025-06-15T12:30:45Z', meta: { version: '2.0.0', isRead: false } }
const received = { id: 42, text: 'hello', at: new Date(sent.at), meta: { version: '2.0.0', isRead: true } }

describe('serdes', () => {
  beforeEach(() => void handedOut.splice(0))

  it('a date that came as text is a date, before and after a replay, and in the result', async () => {
    const env = await testEnv({ workflows: [serdes] })
    const run = await env.start(serdes)
    await run.get()
    await env.client.completeCallback(handedOut[0]!, sent)
    await run.get()
    await env.restart()
    expect(await run.result()).toEqual({
      message: received,
      hasCircle: true,
      dateBefore: true,
      dateAfter: true,
      readBefore: true,
      readAfter: true,
    })
  })

  it('what does not fit is refused when it is sent', async () => {
    const env = await testEnv({ workflows: [serdes] })
    const run = await env.start(serdes)
    await run.get()
    await expect(env.client.completeCallback(handedOut[0]!, { ...sent, at: 'soon' })).rejects.toThrow(MisfitError)
    expect(await run.status()).toBe('waiting')
  })

  it('how payloads are stored is up to a codec, for all of them at once', async () => {
    const codec = {
      encode: async (json: string) => Buffer.from(json).toString('hex'),
      decode: async (stored: string) => Buffer.from(stored, 'hex').toString(),
    }
    const env = await testEnv({ workflows: [serdes], codec })
    const run = await env.start(serdes)
    await run.get()
    await env.client.completeCallback(handedOut[0]!, sent)
    expect((await run.result()).message).toEqual(received)
    const stored = JSON.stringify(await env.store.frames(run.runId))
    expect(stored).not.toContain('hello')
    expect(stored).toContain(Buffer.from('hello').toString('hex'))
  })
})
