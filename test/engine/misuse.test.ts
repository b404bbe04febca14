import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type Context, InvalidInputError, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

async function errorOf(body: (ctx: Context) => Promise<unknown>) {
  const w = workflow('w', body)
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, undefined)
  await run.result().catch(() => {})
  return run.get()
}

describe('input that does not fit', () => {
  const order = workflow(
    'order',
    { input: z.object({ id: z.string(), items: z.array(z.object({ cents: z.number() })) }) },
    async (_ctx, input) => input.id,
  )

  it('is refused with every problem and its path, and nothing is written', async () => {
    const env = await testEnv({ workflows: [order] })
    const attempt = env.start(order, { id: 7, items: [{ cents: 1 }, { cents: 'x' }] } as never)
    await expect(attempt).rejects.toBeInstanceOf(InvalidInputError)
    await expect(attempt).rejects.toMatchObject({ problems: [{ path: '$.id' }, { path: '$.items[1].cents' }] })
    expect((await env.client.list()).runs).toEqual([])
  })

  it('is recognised by any Standard Schema', async () => {
    const byValibot = workflow('valibot', { input: v.object({ n: v.number() }) }, async (_ctx, input) => input.n)
    const byArktype = workflow('arktype', { input: type({ n: 'number' }) }, async (_ctx, input) => input.n)
    const env = await testEnv({ workflows: [byValibot, byArktype] })
    for (const w of [byValibot, byArktype]) {
      await expect(env.start(w, { n: 'no' } as never)).rejects.toMatchObject({ problems: [{ path: '$.n' }] })
      expect(await (await env.start(w, { n: 4 })).result()).toBe(4)
    }
  })

  it('that cannot be stored is refused too', async () => {
    const w = workflow('w', async () => 1)
    const env = await testEnv({ workflows: [w] })
    await expect(env.start(w, { when: () => 1 } as never)).rejects.toThrow('$.when')
    expect((await env.client.list()).runs).toEqual([])
  })

  it('an output that does not fit fails the run', async () => {
    const w = workflow('w', { input: z.any(), output: z.object({ n: z.number() }) }, async () => ({ n: 'x' as never }))
    const env = await testEnv({ workflows: [w] })
    await expect((await env.start(w, undefined)).result()).rejects.toThrow('$.n')
  })
})

describe('names', () => {
  it.each([
    ['empty', ''],
    ['over 100 characters', 'x'.repeat(101)],
    ['with control characters', 'a\u0007b'],
    ['that are not strings', 42 as never],
  ])('%s are refused', async (_what, name) => {
    expect(() => workflow(name, async () => 1)).toThrow(InvalidInputError)
    expect(() => signal(name)).toThrow(InvalidInputError)
    expect(await errorOf((ctx) => ctx.step(name, () => 1))).toMatchObject({
      status: 'failed',
      error: { name: 'InvalidInputError' },
    })
  })

  it('may hold anything else: slashes, colons, emoji', async () => {
    const w = workflow('w', async (ctx) => [await ctx.step('a/b:c~d', () => 1), await ctx.step('🍂', () => 2)])
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toEqual([1, 2])
  })

  it('of workflows are unique per version', async () => {
    const w = () => workflow('same', async () => 1)
    await expect(testEnv({ workflows: [w(), w()] })).rejects.toThrow("two workflows are named 'same'")
  })
})

describe('ctx in the wrong place', () => {
  it('inside a step body is refused, and the step fails fatally', async () => {
    let attempts = 0
    const run = await errorOf((ctx) =>
      ctx.step('outer', async () => {
        attempts++
        await ctx.sleep('inner', '1h')
      }),
    )
    expect(run).toMatchObject({
      status: 'failed',
      error: {
        cause: { name: 'MisplacedCallError', message: expect.stringContaining("inside the body of step 'outer'") },
      },
    })
    expect(attempts).toBe(1)
  })

  it('after the run has ended is refused', async () => {
    let leaked: Context | undefined
    const w = workflow('w', async (ctx) => {
      leaked = ctx
      return 1
    })
    const env = await testEnv({ workflows: [w] })
    await (await env.start(w, undefined)).result()
    expect(() => leaked!.step('late', () => 1)).toThrow(/after run 'run-1' ended/)
  })
})

describe('awaiting something that is not a ctx operation', () => {
  it('is named as such: a promise that nothing of ours will settle', async () => {
    const run = await errorOf(async (ctx) => {
      await ctx.step('a', () => 1)
      await new Promise((resolve) => setTimeout(resolve, 60_000).unref())
      return 1
    })
    expect(run).toMatchObject({
      status: 'stuck',
      error: { name: 'ForeignAwaitError', message: expect.stringMatching(/after step 'a'.*ctx\.step/) },
    })
  })

  it('is named as such when the code comes back from it and calls ctx', async () => {
    const run = await errorOf(async (ctx) => {
      const outside = new Promise((resolve) => setImmediate(resolve))
      void ctx.step('slow', ({ signal }) => new Promise((_, no) => signal.addEventListener('abort', no)))
      await outside
      await ctx.step('b', () => 1)
    })
    expect(run).toMatchObject({
      status: 'stuck',
      error: { name: 'ForeignAwaitError', message: expect.stringContaining("'b'") },
    })
  })

  it.each(['random', 'uuid', 'patched'] as const)(
    'is named as such when the code comes back from it and calls ctx.%s',
    async (method) => {
      const run = await errorOf(async (ctx) => {
        const outside = new Promise((resolve) => setImmediate(resolve))
        void ctx.step('slow', ({ signal }) => new Promise((_, no) => signal.addEventListener('abort', no)))
        await outside
        ctx[method]('x')
      })
      expect(run).toMatchObject({
        status: 'stuck',
        error: { name: 'ForeignAwaitError', message: expect.stringContaining(`ctx.${method}`) },
      })
    },
  )

  it('goes on after the code was fixed', async () => {
    const bad = workflow('w', async (ctx) => {
      const a = await ctx.step('a', () => 1)
      await new Promise(() => {})
      return a
    })
    const good = workflow('w', async (ctx) => ctx.step('a', () => 2))
    const env = await testEnv({ workflows: [bad] })
    const run = await env.start(bad, undefined)
    expect(await run.status()).toBe('stuck')
    await env.restart([good])
    expect(await run.result()).toBe(2)
  })
})

describe('a workflow that returns while operations are pending', () => {
  it('aborts pending steps, says so in the log and in its history', async () => {
    let aborted = false
    const w = workflow('w', async (ctx) => {
      void ctx.step(
        'forgotten',
        ({ signal }) => new Promise((_, no) => signal.addEventListener('abort', () => no((aborted = true)))),
      )
      await ctx.step('quick', () => 1)
      return 'early'
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.result()).toBe('early')
    expect(aborted).toBe(true)
    expect((await run.history()).at(-1)).toMatchObject({ abandoned: ['forgotten'] })
    expect(env.logs.find(({ level }) => level === 'warn')).toMatchObject({ fields: { steps: ['forgotten'] } })
  })
})

describe('unknown things', () => {
  it('an unknown workflow is refused with the known ones', async () => {
    const env = await testEnv({ workflows: [workflow('a', async () => 1), workflow('b', async () => 1)] })
    await expect(env.client.start('c', undefined)).rejects.toThrow("no workflow is named 'c'; known: a, b")
    await expect(
      env.client.start(
        workflow('a', { version: 9 }, async () => 1),
        undefined,
      ),
    ).rejects.toThrow('has no version 9')
  })

  it.each(['', 'has space', 'sla/sh', '-starts-badly', 'x'.repeat(201), 'line\nbreak'])(
    'the run id %j is refused',
    async (id) => {
      const w = workflow('w', async () => 1)
      const env = await testEnv({ workflows: [w] })
      await expect(env.start(w, undefined, { id })).rejects.toThrow('a run id has')
    },
  )
})
