import { describe, expect, it } from 'vitest'
import { FatalError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

describe('ctx.task', () => {
  const ask = workflow('ask', async (ctx, input: unknown) => ctx.task('llm', input))

  it('has a worker outside do it, and journals what it gave', async () => {
    const env = await testEnv({ workflows: [ask] })
    env.worker('llm', ({ input }) => ({ answer: `to ${(input as { q: string }).q}` }))
    const run = await env.start(ask, { q: 'life' })
    expect(await run.result()).toEqual({ answer: 'to life' })
    expect((await run.history()).map(({ type }) => type)).toEqual([
      'run.started',
      'task.dispatched',
      'task.completed',
      'run.completed',
    ])
  })

  it('refuses a type that the workflow does not declare, if it declares any, before anything is handed out', async () => {
    const declaring = (tasks: string[]) => workflow('declaring', { tasks }, async (ctx, type: string) => ctx.task(type))
    const env = await testEnv({ workflows: [declaring(['llm'])] })
    env.worker('llm', () => 'known')
    env.worker('gpu', () => 'unknown')
    expect(await (await env.start(declaring(['llm']), 'llm')).result()).toBe('known')
    const run = await env.start(declaring(['llm']), 'gpu')
    await expect(run.result()).rejects.toThrow(
      "the workflow does not declare tasks of type 'gpu'; add it to its `tasks`, which are: llm",
    )
    expect((await run.history()).map(({ type }) => type)).not.toContain('task.dispatched')
    expect(() => declaring([''])).toThrow("a task type of workflow 'declaring'")
  })

  it('holds nothing while it waits, and says for what', async () => {
    const env = await testEnv({ workflows: [ask] })
    const run = await env.start(ask, 1)
    expect(await run.get()).toMatchObject({ status: 'waiting', waitingFor: [{ kind: 'task', id: 'llm', on: 'llm' }] })
    await env.restart()
    env.worker('llm', () => 'late')
    expect(await run.result()).toBe('late')
  })

  it('is tried again after a failure, later each time, and keeps its checkpoint', async () => {
    const env = await testEnv({ workflows: [ask] })
    const seen: unknown[] = []
    env.worker('llm', async (task) => {
      seen.push([task.attempt, task.lastCheckpoint, env.now().getTime()])
      await task.checkpoint({ done: task.attempt })
      if (task.attempt < 3) throw new Error('not yet')
      return 'done'
    })
    const start = env.now().getTime()
    const run = await env.start(ask, 1)
    expect(await run.result()).toBe('done')
    expect(seen.map((line) => (line as unknown[]).slice(0, 2))).toEqual([
      [1, undefined],
      [2, { done: 1 }],
      [3, { done: 2 }],
    ])
    const times = seen.map((line) => ((line as unknown[])[2] as number) - start)
    expect(times[1]).toBeGreaterThanOrEqual(500)
    expect(times[2]! - times[1]!).toBeGreaterThanOrEqual(1_000)
    expect(await run.history()).toContainEqual(expect.objectContaining({ type: 'task.completed', attempt: 3 }))
  })

  it('fails the step after its last attempt, with the worker’s own words', async () => {
    const env = await testEnv({ workflows: [ask] })
    env.worker('llm', () => {
      throw new Error('no idea')
    })
    const run = await env.start(ask, 1)
    await expect(run.result()).rejects.toThrow("step 'llm' failed after 3 attempts: no idea")
  })

  it('fails at once when the worker says that it cannot be retried', async () => {
    const env = await testEnv({ workflows: [ask] })
    let calls = 0
    env.worker('llm', () => {
      calls++
      throw new FatalError('never')
    })
    await expect((await env.start(ask, 1)).result()).rejects.toThrow('after 1 attempt: FatalError: never')
    expect(calls).toBe(1)
  })

  it('pauses for a while and is then done by any worker, with what was saved', async () => {
    const env = await testEnv({ workflows: [ask] })
    const start = env.now().getTime()
    env.worker('llm', (task) =>
      task.lastCheckpoint === undefined
        ? task.pause('cool-down', '10m', { page: 2 })
        : { from: task.lastCheckpoint, attempt: task.attempt },
    )
    const run = await env.start(ask, 1)
    expect(await run.result()).toEqual({ from: { page: 2 }, attempt: 1 })
    expect(env.now().getTime() - start).toBe(600_000)
  })

  it('loops as an agent does, counting iterations, until one of them ends it', async () => {
    const env = await testEnv({ workflows: [ask] })
    env.worker('llm', (task) => {
      const said = [...((task.lastCheckpoint as number[] | undefined) ?? []), task.iteration]
      return task.iteration < 4 ? task.goOn(said) : said
    })
    expect(await (await env.start(ask, 1)).result()).toEqual([0, 1, 2, 3, 4])
  })

  it('stops an agent that would go on for ever', async () => {
    const loop = workflow('loop', async (ctx) => ctx.task('llm', undefined, { maxIterations: 3 }))
    const env = await testEnv({ workflows: [loop] })
    let calls = 0
    env.worker('llm', (task) => {
      calls++
      return task.goOn()
    })
    await expect((await env.start(loop, undefined)).result()).rejects.toThrow('asked for more than its 3 iterations')
    expect(calls).toBe(3)
  })

  it('is taken back when its run is cancelled or terminated', async () => {
    for (const stop of ['cancel', 'terminate'] as const) {
      const env = await testEnv({ workflows: [ask] })
      const run = await env.start(ask, 1)
      await run.get()
      await env.client[stop](run.runId)
      await env.settle()
      let calls = 0
      env.worker('llm', () => calls++)
      await env.advance('1h')
      expect(calls).toBe(0)
    }
  })

  it('is dispatched again when a failed run is retried', async () => {
    const env = await testEnv({ workflows: [ask] })
    let isBroken = true
    env.worker('llm', () => {
      if (isBroken) throw new FatalError('broken')
      return 'mended'
    })
    const run = await env.start(ask, 1)
    await expect(run.result()).rejects.toThrow('broken')
    isBroken = false
    await env.client.retry(run.runId)
    expect(await run.result()).toBe('mended')
  })

  it('that waits while another step fails for good is dispatched again when the run is retried', async () => {
    let isBroken = true
    const both = workflow('both', async (ctx) =>
      Promise.all([
        ctx.task('llm', 1),
        ctx.step('other', () => {
          if (isBroken) throw new FatalError('broken')
          return 2
        }),
      ]),
    )
    const env = await testEnv({ workflows: [both] })
    const run = await env.start(both, undefined)
    await expect(run.result()).rejects.toThrow('broken')
    isBroken = false
    await env.client.retry(run.runId)
    env.worker('llm', ({ input }) => (input as number) + 10)
    expect(await run.result()).toEqual([11, 2])
  })

  it('of one generation is not mixed up with that of the next', async () => {
    const again = workflow('again', async (ctx, round: number) => {
      const given = await ctx.task<number>('llm', round)
      return given < 3 ? ctx.continueAsNew(given) : given
    })
    const env = await testEnv({ workflows: [again] })
    env.worker('llm', ({ input }) => (input as number) + 1)
    expect(await (await env.start(again, 0)).result()).toBe(3)
  })

  it('refuses what cannot go to a worker, and nothing is handed out', async () => {
    const bad = workflow('bad', async (ctx, which: string) => {
      if (which === 'function') return ctx.task('llm', { f: () => 1 })
      if (which === 'large') return ctx.task('llm', 'x'.repeat(1_048_576))
      if (which === 'type') return ctx.task('', 1)
      if (which === 'iterations') return ctx.task('llm', 1, { maxIterations: 0 })
      return ctx.task('llm', 1, { retry: { retryIf: () => true } as never })
    })
    const env = await testEnv({ workflows: [bad] })
    let calls = 0
    env.worker('llm', () => calls++)
    await expect((await env.start(bad, 'function')).result()).rejects.toThrow(/\$\.f/)
    await expect((await env.start(bad, 'large')).result()).rejects.toThrow('1048578 bytes')
    await expect((await env.start(bad, 'type')).result()).rejects.toThrow('must not be empty')
    await expect((await env.start(bad, 'iterations')).result()).rejects.toThrow(
      'maxIterations must be a whole number from 1',
    )
    await expect((await env.start(bad, 'retryIf')).result()).rejects.toThrow('retryIf is a function')
    expect(calls).toBe(0)
  })
})
