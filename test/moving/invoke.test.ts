import { describe, expect, it } from 'vitest'
import { localFunction, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { invoke } from './examples/invoke.ts'

describe('invoke', () => {
  it('calls a function as a step, tries again what failed, and each time under the same key', async () => {
    const keys: string[] = []
    const add = localFunction('add', ({ a, b }: { a: number; b: number }, { idempotencyKey }) => {
      if (keys.push(idempotencyKey) === 1) throw new Error('cold')
      return { sum: a + b }
    })
    const env = await testEnv({ workflows: [invoke], functions: [add] })
    const run = await env.start(invoke, { function: 'add', payload: { a: 1, b: 2 } }, { id: 'sum' })
    await run.get()
    await env.restart()
    expect(await run.result()).toEqual({ sum: 3 })
    expect(keys).toEqual(['sum/add', 'sum/add'])
  })

  it('what is a workflow itself is called with ctx.run, and nobody is paid for the waiting', async () => {
    const callee = workflow('callee', async (ctx, days: number) => {
      await ctx.sleep({ days })
      return `after ${days} days`
    })
    const caller = workflow('caller', async (ctx, days: number) => ctx.run(callee, days, { id: 'the-callee' }))
    const env = await testEnv({ workflows: [caller, callee] })
    const run = await env.start(caller, 20)
    await env.advance('10d')
    expect((await run.get()).waitingFor).toEqual([{ kind: 'child', id: 'callee', on: 'the-callee' }])
    await env.restart()
    expect(await run.result()).toBe('after 20 days')
    expect(await env.handle('the-callee').status()).toBe('completed')
  })
})
