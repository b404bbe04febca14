import { describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { testEnv } from '../../sdk/testing/index.ts'

describe('ctx.invoke', () => {
  const w = workflow('w', async (ctx, n: number) => ctx.invoke<number>('arn:aws:lambda:us-east-1:1:function:double', { n }))

  it('calls a function as a step, named after the function', async () => {
    await using local = await Local.open({
      path: ':memory:',
      workflows: [w],
      functions: { 'arn:aws:lambda:us-east-1:1:function:double': (payload) => (payload as { n: number }).n * 2 },
    })
    const { runId } = await local.start(w, 21)
    expect(await local.result(runId)).toBe(42)
    expect((await local.history(runId)).find(({ type }) => type === 'step.completed')).toMatchObject({ id: 'double', result: 42 })
  })

  it('says what is there when the function is not', async () => {
    await using local = await Local.open({ path: ':memory:', workflows: [w], functions: { other: () => 1 }, log: () => {} })
    const { runId } = await local.start(w, 1)
    await expect(local.result(runId)).rejects.toThrow('it has: other')
  })

  it('can be stubbed like any step', async () => {
    const env = await testEnv({ workflows: [w] })
    env.stub('double', () => 7)
    expect(await (await env.start(w, 1)).result()).toBe(7)
  })
})
