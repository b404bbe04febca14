import { describe, expect, it } from 'vitest'
import { FatalError, localFunction, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { testEnv } from '../../sdk/testing/index.ts'

describe('ctx.invoke', () => {
  const w = workflow('w', async (ctx, n: number) =>
    ctx.invoke<number>('arn:aws:lambda:us-east-1:1:function:double', { n }),
  )

  it('calls a function as a step, named after the function', async () => {
    await using local = await Local.open({
      path: ':memory:',
      workflows: [w],
      functions: [localFunction('arn:aws:lambda:us-east-1:1:function:double', ({ n }: { n: number }) => n * 2)],
    })
    const { runId } = await local.start(w, 21)
    expect(await local.result(runId)).toBe(42)
    expect((await local.history(runId)).find(({ type }) => type === 'step.completed')).toMatchObject({
      id: 'double',
      result: 42,
    })
  })

  it('finds the function that an ARN, a version or an alias means', async () => {
    const called = workflow('called', async (ctx, name: string) => ctx.invoke(name, 1, { name: 'call' }))
    const env = await testEnv({ workflows: [called], functions: [localFunction('double', (n: number) => n * 2)] })
    for (const name of [
      'double',
      'double:live',
      'arn:aws:lambda:us-east-1:1:function:double',
      'arn:aws:lambda:us-east-1:1:function:double:7',
    ])
      expect(await (await env.start(called, name)).result()).toBe(2)
  })

  it('says what is there when the function is not, and what to export', async () => {
    const env = await testEnv({ workflows: [w], functions: [localFunction('other', () => 1)] })
    await expect((await env.start(w, 1)).result()).rejects.toThrow(
      /localFunction\('double', async \(payload\) => …\); there are: other/,
    )
  })

  it('lets through what Lambda would, and tells of errors as Lambda does: they are tried again, a FatalError too', async () => {
    const seen: unknown[] = []
    const double = localFunction('double', (payload: unknown, { idempotencyKey }) => {
      seen.push([payload, idempotencyKey])
      if (seen.length === 1) throw new FatalError('no way')
      return { at: new Date(0), none: undefined }
    })
    const env = await testEnv({ workflows: [w], functions: [double] })
    const run = await env.start(w, 1)
    expect(await run.result()).toEqual({ at: '1970-01-01T00:00:00.000Z' })
    expect(seen[0]).toEqual(seen[1])
    expect((await run.history()).find(({ type }) => type === 'step.retrying')).toMatchObject({
      error: { name: 'FatalError', message: "function 'arn:aws:lambda:us-east-1:1:function:double' failed: no way" },
    })
  })

  it('refuses two functions of one name', async () => {
    await expect(
      testEnv({ workflows: [w], functions: [localFunction('f', () => 1), localFunction('f', () => 2)] }),
    ).rejects.toThrow("two local functions are named 'f'")
  })

  it('can be stubbed like any step', async () => {
    const env = await testEnv({ workflows: [w] })
    env.stub('double', () => 7)
    expect(await (await env.start(w, 1)).result()).toBe(7)
  })
})
