import { describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

/** Each is greeted in a step of the same name; the results go to the steps in their order. */
const greeting = (names: string[], hasInput = true) =>
  workflow('w', async (ctx) => {
    const greetings: string[] = []
    for (const name of names)
      greetings.push(await ctx.step('greet', () => `hello ${name}`, hasInput ? { input: { name } } : {}))
    await ctx.sleep('rest', '1h')
    return greetings
  })

async function deployed(before: ReturnType<typeof greeting>, after: ReturnType<typeof greeting>) {
  const env = await testEnv({ workflows: [before] })
  const run = await env.start(before, undefined)
  await env.settle()
  await env.restart([after])
  await env.advance('2h')
  return run
}

describe('the input of a step', () => {
  it('is journaled as a digest, and not itself', async () => {
    const w = greeting(['Ada'])
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.result()
    const completed = (await run.history()).find(({ type }) => type === 'step.completed')!
    expect(completed).toMatchObject({ inputDigest: expect.stringMatching(/^[\w-]{22}$/) })
    expect(JSON.stringify({ ...completed, result: '' })).not.toContain('Ada')
  })

  it('parks a run whose results would go to other inputs than they were made of', async () => {
    const { status, error } = await (await deployed(greeting(['Ada', 'Bob']), greeting(['Bob', 'Ada']))).get()
    expect({ status, error: error?.message }).toEqual({
      status: 'stuck',
      error: expect.stringContaining("step 'greet' has a result that was made of another input"),
    })
  })

  it('is the same whatever the order of its keys', async () => {
    const version = (input: object) =>
      workflow('w', async (ctx) => {
        await ctx.step('greet', () => 1, { input })
        await ctx.sleep('rest', '1h')
      })
    const run = await deployed(version({ a: 1, b: new Date(0) }) as never, version({ b: new Date(0), a: 1 }) as never)
    expect(await run.status()).toBe('completed')
  })

  it('may be added to and dropped from steps of runs that are under way', async () => {
    for (const before of [true, false]) {
      expect(await (await deployed(greeting(['Ada'], before), greeting(['Bob'], !before))).result()).toEqual([
        'hello Ada',
      ])
    }
  })

  it('is noticed between two attempts, too', async () => {
    const failing = (input: string) =>
      workflow('w', async (ctx) =>
        ctx.step('try', () => Promise.reject(new Error('not yet')), {
          input,
          retry: { attempts: 9, initial: '1h', jitter: false },
        }),
      )
    const run = await deployed(failing('a') as never, failing('b') as never)
    expect(await run.status()).toBe('stuck')
  })

  it('has to be something that can be stored', async () => {
    const w = workflow('w', async (ctx) => ctx.step('greet', () => 1, { input: () => 1 }))
    const env = await testEnv({ workflows: [w] })
    await expect((await env.start(w, undefined)).result()).rejects.toThrow("the input of step 'greet'")
  })
})
