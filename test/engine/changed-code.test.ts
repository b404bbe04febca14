import { describe, expect, it } from 'vitest'
import { type Context, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

type Body = (ctx: Context) => Promise<unknown>
const go = signal('go')

/** Runs `before` up to its sleep, deploys `after`, and lets the sleep end. */
async function deployUnderASleeper(before: Body, after: Body) {
  const v1 = workflow('w', before)
  const v2 = workflow('w', after)
  const env = await testEnv({ workflows: [v1] })
  const run = await env.start(v1, undefined)
  await env.settle()
  const historyBefore = await run.history()
  await env.restart([v2])
  await env.advance('1h')
  return { env, run, v1, historyBefore }
}

const original: Body = async (ctx) => {
  const a = await ctx.step('a', () => 'A')
  const b = await ctx.step('b', () => 'B')
  await ctx.sleep('nap', '1h')
  return `${a}${b}`
}

describe('code that changed under a sleeping run', () => {
  const changes: [string, Body, RegExp][] = [
    [
      'two steps swapped',
      async (ctx) => {
        const b = await ctx.step('b', () => 'B')
        const a = await ctx.step('a', () => 'A')
        await ctx.sleep('nap', '1h')
        return `${a}${b}`
      },
      /after its start, its history goes on with step 'a', but the code waits for step 'b'/,
    ],
    [
      'a step renamed',
      async (ctx) => {
        await ctx.step('a', () => 'A')
        await ctx.step('bee', () => 'B')
        await ctx.sleep('nap', '1h')
      },
      /after step 'a', its history goes on with step 'b', but the code waits for step 'bee'/,
    ],
    [
      'a step removed',
      async (ctx) => {
        await ctx.step('b', () => 'B')
        await ctx.sleep('nap', '1h')
      },
      /its history goes on with step 'a', but the code waits for step 'b'/,
    ],
    [
      'the last operations deleted',
      async (ctx) => {
        await ctx.step('a', () => 'A')
      },
      /after step 'a', its history goes on with step 'b', but the code had already ended/,
    ],
    [
      'only the sleep deleted',
      async (ctx) => {
        await ctx.step('a', () => 'A')
        await ctx.step('b', () => 'B')
      },
      /after step 'b', its history goes on with sleep 'nap', but the code had already ended/,
    ],
    [
      'a kind changed',
      async (ctx) => {
        await ctx.step('a', () => 'A')
        await ctx.sleep('b', '1h')
        await ctx.sleep('nap', '1h')
      },
      /its history has a step 'b', but the code calls a sleep of that name/,
    ],
    [
      'a waiting operation of another kind',
      async (ctx) => {
        await ctx.step('a', () => 'A')
        await ctx.step('b', () => 'B')
        await ctx.waitFor(signal('nap'))
      },
      /its history has a sleep 'nap', but the code calls a wait of that name/,
    ],
    [
      'a step inserted before a finished one',
      async (ctx) => {
        await ctx.step('a', () => 'A')
        await ctx.step('new', () => 'N')
        await ctx.step('b', () => 'B')
        await ctx.sleep('nap', '1h')
      },
      /after step 'a', its history goes on with step 'b', but the code waits for step 'new'/,
    ],
    [
      'a step inserted before the sleep that is under way',
      async (ctx) => {
        await ctx.step('a', () => 'A')
        await ctx.step('b', () => 'B')
        await ctx.step('new', () => 'N')
        await ctx.sleep('nap', '1h')
      },
      /after step 'b', its history goes on with sleep 'nap', but the code waits for step 'new'/,
    ],
  ]

  it.each(changes)(
    '%s: the run is parked with a precise message, and goes on after a fix',
    async (_what, after, message) => {
      const { env, run, v1, historyBefore } = await deployUnderASleeper(original, after)
      const parked = await run.get()
      expect(parked.status).toBe('stuck')
      expect(parked.error?.name).toBe('NonDeterminismError')
      expect(parked.error?.message).toMatch(message)
      expect(parked.error?.message).toContain('ctx.patched')
      expect(await run.history()).toEqual(historyBefore)
      await env.restart([v1])
      expect(await run.result()).toBe('AB')
    },
  )

  const shape = (result: unknown): string => (result as { name: string }).name.trim()

  it('code that throws on the way names what it threw and where, and keeps the error as the cause', async () => {
    const { env, run, v1 } = await deployUnderASleeper(original, async (ctx) => {
      const a = await ctx.step('a', () => 'A')
      return shape(a)
    })
    const { error } = await run.get()
    expect(error).toMatchObject({
      name: 'NonDeterminismError',
      cause: { name: 'TypeError', stack: expect.stringContaining('changed-code.test.ts') },
    })
    expect(error?.message).toMatch(
      /after step 'a', its history goes on with step 'b', but the code threw TypeError: .* at changed-code\.test\.ts:\d+\. /,
    )
    expect(error?.message).not.toContain('ctx.now()')
    await env.restart([v1])
    expect(await run.result()).toBe('AB')
  })

  it('code that throws and begins to undo says what it threw too', async () => {
    const { run } = await deployUnderASleeper(original, async (ctx) => {
      ctx.compensate('give back', () => 1)
      return shape(await ctx.step('a', () => 'A'))
    })
    const { error } = await run.get()
    expect(error).toMatchObject({ cause: { name: 'TypeError' } })
    expect(error?.message).toMatch(
      /its history goes on with step 'b', but the code threw TypeError: .* at changed-code\.test\.ts:\d+/,
    )
  })

  it('a stuck run can also be tried again by hand', async () => {
    const { env, run, v1 } = await deployUnderASleeper(original, async (ctx) => ctx.step('other', () => 1))
    await expect(run.result()).rejects.toThrow('is stuck')
    await env.client.retry(run.runId)
    expect(await run.status()).toBe('stuck')
    await env.restart([v1])
    expect(await run.result()).toBe('AB')
  })

  it("a sleep's changed duration is reported once, and the journaled one stands", async () => {
    const { env, run } = await deployUnderASleeper(original, async (ctx) => {
      const a = await ctx.step('a', () => 'A')
      const b = await ctx.step('b', () => 'B')
      await ctx.sleep('nap', '9d')
      await ctx.sleep('another', '1h')
      return `${a}${b}!`
    })
    expect(await run.status()).toBe('sleeping')
    expect(await run.result()).toBe('AB!')
    const reports = (await run.history()).filter(({ type }) => type === 'changed')
    expect(reports).toMatchObject([{ id: 'nap', field: 'duration', journaled: 3_600_000, now: 777_600_000 }])
    expect(env.logs.filter(({ message }) => message.includes('which stands for this run'))).toHaveLength(1)
  })

  it('a changed timeout of a wait is reported too', async () => {
    const v1 = workflow('w', async (ctx) => (await ctx.waitFor(go, { timeout: '1h' })) ?? 'late')
    const v2 = workflow('w', async (ctx) => (await ctx.waitFor(go, { timeout: '2h' })) ?? 'late')
    const env = await testEnv({ workflows: [v1] })
    const run = await env.start(v1, undefined)
    await env.settle()
    await env.restart([v2])
    const start = env.clock.now()
    expect(await run.result()).toBe('late')
    expect(env.clock.now() - start).toBe(3_600_000)
    expect((await run.history()).some(({ type }) => type === 'changed')).toBe(true)
  })

  it('ctx.patched keeps old runs on the old path and gives new ones the new path', async () => {
    const v1 = workflow('w', async (ctx) => {
      await ctx.step('a', () => 1)
      await ctx.sleep('nap', '1h')
      return ctx.step('old', () => 'old')
    })
    const v2 = workflow('w', async (ctx) => {
      await ctx.step('a', () => 1)
      const isNew = ctx.patched('extra-step')
      if (isNew) await ctx.step('extra', () => 2)
      await ctx.sleep('nap', '1h')
      return isNew ? ctx.step('new', () => 'new') : ctx.step('old', () => 'old')
    })
    const env = await testEnv({ workflows: [v1] })
    const oldRun = await env.start(v1, undefined)
    await env.settle()
    await env.restart([v2])
    const newRun = await env.start(v2, undefined)
    expect(await oldRun.result()).toBe('old')
    expect(await newRun.result()).toBe('new')
  })

  it('ctx.patched says the same on replay when two things came at once', async () => {
    const other = signal('other')
    const w = workflow('w', async (ctx) => {
      const later = ctx.waitFor(other)
      await ctx.waitFor(go)
      const isNew = ctx.patched('nap')
      if (isNew) await ctx.sleep('nap', '1h')
      await later
      return isNew
    })
    const env = await testEnv({ workflows: [w] })
    // Both are there before it begins, so that it hears of the one right after the other.
    const run = await env.start(w, undefined, { delay: '1m' })
    await run.signal(go)
    await run.signal(other)
    expect(await run.result()).toBe(true)
    expect((await run.history()).map(({ type }) => type)).toContain('sleep.completed')
  })

  it('versions live side by side: a run stays on the one it started with', async () => {
    const v1 = workflow('w', { version: 1 }, async (ctx) => {
      await ctx.sleep('nap', '1h')
      return 'one'
    })
    const v2 = workflow('w', { version: 2 }, async () => 'two')
    const env = await testEnv({ workflows: [v1] })
    const oldRun = await env.start(v1, undefined)
    await env.settle()
    await env.restart([v1, v2])
    expect((await env.client.start('w', undefined)).runId).toBeTruthy()
    const newRun = env.handle((await env.client.start('w', undefined)).runId)
    expect(await newRun.result()).toBe('two')
    expect(await oldRun.result()).toBe('one')
  })

  it('a run of an unknown version is left to other runners, and parked after ten minutes with the versions that there are', async () => {
    const v1 = workflow('w', { version: 1 }, async (ctx) => {
      await ctx.sleep('nap', '1h')
      return 'one'
    })
    const v2 = workflow('w', { version: 2 }, async () => 'two')
    const env = await testEnv({ workflows: [v1] })
    const run = await env.start(v1, undefined)
    await env.settle()
    await env.restart([v2])
    await env.advance('1h')
    expect(await run.get()).toMatchObject({ status: 'pending', waitingFor: [{ kind: 'code', id: 'w', on: '1' }] })
    await env.advance('11m')
    expect(await run.get()).toMatchObject({
      status: 'stuck',
      error: { name: 'UnknownWorkflowError', message: expect.stringContaining('known versions: 2') },
    })
    await env.restart([v1, v2])
    expect(await run.result()).toBe('one')
  })
})
