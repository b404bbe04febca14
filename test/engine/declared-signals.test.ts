import { describe, expect, it } from 'vitest'
import { signal, UnknownSignalError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const approved = signal<string>('approved')
const withdrawn = signal('withdrawn')

describe('a workflow that declares its signals', () => {
  const order = workflow('order', { signals: [approved, withdrawn] }, (ctx) => ctx.waitFor(approved))

  it('takes those, and refuses others by their name before anything is written', async () => {
    const env = await testEnv({ workflows: [order] })
    const run = await env.start(order)
    const misspelt = run.signal('aproved', 'Ada')
    await expect(misspelt).rejects.toThrow(UnknownSignalError)
    await expect(misspelt).rejects.toMatchObject({
      known: ['approved', 'withdrawn'],
      message: expect.stringContaining('known: approved, withdrawn'),
    })
    expect((await env.store.inbox(run.runId)).messages).toEqual([])
    expect(await run.signal(withdrawn)).toEqual({ accepted: true })
    await run.signal('approved', 'Ada')
    expect(await run.result()).toBe('Ada')
  })

  it('cannot wait for another, which could not be sent', async () => {
    const forgetful = workflow('forgetful', { signals: [withdrawn] }, (ctx) => ctx.waitFor(approved))
    const env = await testEnv({ workflows: [forgetful] })
    await expect((await env.start(forgetful)).result()).rejects.toThrow(
      "says which signals it waits for, and 'approved' is none of them",
    )
  })
})

it('a workflow that does not declare them keeps every signal, and shows those that it does not wait for', async () => {
  const order = workflow('order', (ctx) => ctx.waitFor(approved))
  const env = await testEnv({ workflows: [order] })
  const run = await env.start(order)
  await run.signal('aproved', 'Ada')
  expect(await run.get()).toMatchObject({ status: 'waiting', keptSignals: { aproved: 1 } })
})
