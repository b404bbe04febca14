import { describe, expect, it } from 'vitest'
import { FatalError, RetryableError, StepError, StepInterruptedError, TimeoutError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const types = (history: { type: string }[]) => history.map(({ type }) => type)

describe('a step', () => {
  it('runs once, journals its result, and is not run again on replay', async () => {
    let runs = 0
    const w = workflow('w', async (ctx) => {
      const a = await ctx.step('a', async () => ++runs)
      await ctx.sleep('nap', '1h')
      return a
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.result()).toBe(1)
    expect(runs).toBe(1)
    expect(types(await run.history())).toEqual([
      'run.started',
      'step.completed',
      'sleep.started',
      'sleep.completed',
      'run.completed',
    ])
  })

  it('may be synchronous, return nothing, and have its result changed by the code without consequences', async () => {
    const w = workflow('w', async (ctx) => {
      const list = await ctx.step('list', () => ({ items: [1, 2] }))
      const nothing = await ctx.step('nothing', () => {})
      list.items.push(3)
      await ctx.sleep('1h')
      list.items.push(4)
      return { list, nothing: nothing === undefined }
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toEqual({ list: { items: [1, 2, 3, 4] }, nothing: true })
  })

  it('is retried with growing waits that hold nothing, under one idempotency key', async () => {
    const seen: { attempt: number; key: string; at: number }[] = []
    const w = workflow('w', async (ctx) =>
      ctx.step(
        'flaky',
        ({ attempt, idempotencyKey }) => {
          seen.push({ attempt, key: idempotencyKey, at: env.clock.now() })
          if (attempt < 4) throw new Error(`no ${attempt}`)
          return 'yes'
        },
        { retry: { attempts: 5, initial: '10s', factor: 3, max: '1m', jitter: false } },
      ),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined, { id: 'order-1' })
    expect(await run.status()).toBe('sleeping')
    expect((await run.get()).waitingFor).toMatchObject([{ kind: 'retry', id: 'flaky' }])
    expect(await run.result()).toBe('yes')
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4])
    expect(new Set(seen.map(({ key }) => key))).toEqual(new Set(['order-1/flaky']))
    expect(seen.slice(1).map(({ at }, i) => at - seen[i]!.at)).toEqual([10_000, 30_000, 60_000])
  })

  it('fails after its attempts with a StepError that carries the cause', async () => {
    const w = workflow('w', async (ctx) => {
      try {
        await ctx.step(
          'pay',
          () => {
            throw Object.assign(new Error('card declined'), { code: 'E_CARD' })
          },
          { retry: { attempts: 2 } },
        )
      } catch (error) {
        const e = error as StepError & { cause: Error & { code: string } }
        return { isStepError: e instanceof StepError, attempts: e.attempts, message: e.message, code: e.cause.code }
      }
      return undefined
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toEqual({
      isStepError: true,
      attempts: 2,
      message: "step 'pay' failed after 2 attempts: card declined",
      code: 'E_CARD',
    })
  })

  it('is not retried after a FatalError, nor when retryIf says no', async () => {
    let fatal = 0
    let unwanted = 0
    const w = workflow('w', async (ctx) => {
      const results = await Promise.allSettled([
        ctx.step('fatal', () => {
          fatal++
          throw new FatalError('never')
        }),
        ctx.step(
          'unwanted',
          () => {
            unwanted++
            throw new TypeError('not this one')
          },
          { retry: { retryIf: (error) => !(error instanceof TypeError) } },
        ),
      ])
      return results.map(({ status }) => status)
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toEqual(['rejected', 'rejected'])
    expect({ fatal, unwanted }).toEqual({ fatal: 1, unwanted: 1 })
  })

  it('waits as long as a RetryableError asks for', async () => {
    const times: number[] = []
    const w = workflow('w', async (ctx) =>
      ctx.step('limited', ({ attempt }) => {
        times.push(env.clock.now())
        if (attempt === 1) throw new RetryableError('slow down', { after: '7m' })
        return attempt
      }),
    )
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe(2)
    expect(times[1]! - times[0]!).toBe(7 * 60_000)
  })

  it('that takes too long sees its signal aborted, and that counts as an attempt', async () => {
    const aborted: string[] = []
    const w = workflow('w', async (ctx) =>
      ctx.step(
        'slow',
        ({ attempt, signal }) =>
          attempt === 2
            ? 'quick'
            : new Promise<string>((_, reject) => {
                signal.addEventListener('abort', () => {
                  aborted.push((signal.reason as Error).name)
                  reject(signal.reason)
                })
              }),
        { timeout: '30s', retry: { attempts: 2, initial: '1s', jitter: false } },
      ),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.result()).toBe('quick')
    expect(aborted).toEqual(['TimeoutError'])
    expect((await run.history()).find(({ type }) => type === 'step.retrying')).toMatchObject({
      attempt: 1,
      error: { name: 'TimeoutError' },
    })
  })

  it('fails with a TimeoutError as its cause when every attempt takes too long', async () => {
    const w = workflow('w', async (ctx) =>
      ctx
        .step('hang', () => new Promise<never>(() => {}), { timeout: '5s', retry: { attempts: 1 } })
        .catch((e: StepError) => e.cause instanceof TimeoutError),
    )
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe(true)
  })

  it('resumes from its last checkpoint after a crash', async () => {
    const began: unknown[] = []
    const w = workflow('w', async (ctx) =>
      ctx.step('crawl', async ({ checkpoint, lastCheckpoint }) => {
        began.push(lastCheckpoint ?? null)
        const page = (lastCheckpoint as { page: number } | undefined)?.page ?? 0
        await checkpoint({ page: page + 10 })
        if (page === 0) await new Promise(() => {})
        return page
      }),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await env.restart()
    expect(await run.result()).toBe(10)
    expect(began).toEqual([null, { page: 10 }])
  })

  it('can pause: it stays running, holds nothing, and is entered again with its data', async () => {
    const entered: { attempt: number; data: unknown; at: number }[] = []
    const w = workflow('w', async (ctx) =>
      ctx.step('poll', async ({ attempt, lastCheckpoint, pause }) => {
        const round = (lastCheckpoint as { round: number } | undefined)?.round ?? 0
        entered.push({ attempt, data: lastCheckpoint ?? null, at: env.clock.now() })
        if (round < 2) await pause('cool-down', '45m', { round: round + 1 })
        return round
      }),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.status()).toBe('sleeping')
    expect((await run.get()).waitingFor).toMatchObject([{ kind: 'pause', id: 'poll' }])
    expect(await run.result()).toBe(2)
    expect(entered.map(({ attempt, data }) => ({ attempt, data }))).toEqual([
      { attempt: 1, data: null },
      { attempt: 1, data: { round: 1 } },
      { attempt: 1, data: { round: 2 } },
    ])
    expect(entered[1]!.at - entered[0]!.at).toBe(45 * 60_000)
    expect(types(await run.history()).filter((t) => t.startsWith('step.'))).toEqual([
      'step.paused',
      'step.paused',
      'step.completed',
    ])
  })

  it('shows a heartbeat outside while it runs', async () => {
    let finish = () => {}
    const w = workflow('w', async (ctx) =>
      ctx.step('work', async ({ heartbeat }) => {
        heartbeat({ percent: 10 })
        await new Promise<void>((resolve) => (finish = resolve))
        return 'done'
      }),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    expect((await env.client.get(run.runId)).heartbeat).toMatchObject({ step: 'work', details: { percent: 10 } })
    finish()
    expect(await run.result()).toBe('done')
  })

  it('with at-most-once semantics is not run again after a crash, but reported as interrupted (I4)', async () => {
    let runs = 0
    const w = workflow('w', async (ctx) => {
      try {
        await ctx.step(
          'transfer',
          async () => {
            runs++
            await new Promise(() => {})
          },
          { semantics: 'at-most-once' },
        )
      } catch (error) {
        return (error as StepError).cause instanceof StepInterruptedError
      }
      return undefined
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await env.restart()
    expect(await run.result()).toBe(true)
    expect(runs).toBe(1)
  })

  it('runs again after a crash under the same key when it is at-least-once (I4)', async () => {
    const keys: string[] = []
    const w = workflow('w', async (ctx) =>
      ctx.step('send', async ({ idempotencyKey }) => {
        keys.push(idempotencyKey)
        if (keys.length === 1) await new Promise(() => {})
        return 'sent'
      }),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await env.restart()
    expect(await run.result()).toBe('sent')
    expect(keys).toHaveLength(2)
    expect(keys[0]).toBe(keys[1])
  })

  it.each([
    ['a function', { f: () => 1 }, '$.f'],
    ['a class instance', { at: new WeakMap() }, '$.at'],
    ['a promise', [Promise.resolve()], '$[0]'],
    [
      'a circular reference',
      (() => {
        const o: Record<string, unknown> = {}
        o.self = o
        return o
      })(),
      '$.self',
    ],
  ])('whose result is %s fails fatally and names the path', async (_what, value, path) => {
    let runs = 0
    const w = workflow('w', async (ctx) => {
      await ctx.step('bad', () => {
        runs++
        return value as never
      })
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow(`${path}:`)
    expect(runs).toBe(1)
  })
})
