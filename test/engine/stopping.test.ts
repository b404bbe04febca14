import { describe, expect, it } from 'vitest'
import { CancelledError, FatalError, signal, TimeoutError, workflow } from '../../sdk/index.ts'
import { type TestEnv, testEnv } from '../../sdk/testing/index.ts'

describe('cancelling', () => {
  it('rejects pending waits, lets finally blocks run steps, and ends as cancelled', async () => {
    const cleaned: string[] = []
    const w = workflow('w', async (ctx) => {
      try {
        await ctx.sleep('long', '30d')
      } finally {
        await ctx.step('clean', () => void cleaned.push('clean'))
      }
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await run.cancel('changed my mind')
    await expect(run.result()).rejects.toThrow('changed my mind')
    expect(await run.status()).toBe('cancelled')
    expect(cleaned).toEqual(['clean'])
  })

  it('rejects with a CancelledError that code can tell apart', async () => {
    const w = workflow('w', async (ctx) => {
      try {
        await Promise.all([ctx.waitFor(signal('never')), ctx.callback('never-called').promise])
      } catch (error) {
        if (error instanceof CancelledError) return 'wound down'
        throw error
      }
      return 'no'
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await run.cancel()
    expect(await run.result()).toBe('wound down')
  })

  it('aborts the signal of running steps and keeps what they still complete', async () => {
    const w = workflow('w', async (ctx) => {
      const kept = await ctx.step(
        'graceful',
        ({ signal }) => new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('saved half'))),
      )
      await ctx.step('after', () => 1)
      return kept
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await run.cancel()
    expect(await run.result()).toBe('saved half')
  })

  it('ends steps that throw on abort, or wait for their next attempt, without another attempt', async () => {
    let attempts = 0
    const w = workflow('w', async (ctx) => {
      await ctx.step(
        'flaky',
        () => {
          attempts++
          throw new Error('again')
        },
        { retry: { attempts: 10, initial: '1h' } },
      )
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await run.cancel()
    await expect(run.result()).rejects.toThrow('cancelled')
    expect(await run.status()).toBe('cancelled')
    expect(attempts).toBe(1)
  })

  it('before the start ends the run without any of its code', async () => {
    let ran = false
    const w = workflow('w', async () => {
      ran = true
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined, { delay: '1h' })
    await run.cancel()
    expect(await run.status()).toBe('cancelled')
    expect(ran).toBe(false)
  })

  it('survives a crash in the middle of the clean-up', async () => {
    const cleaned: string[] = []
    let hang = true
    const w = workflow('w', async (ctx) => {
      try {
        await ctx.sleep('long', '30d')
      } finally {
        await ctx.step('first', () => void cleaned.push('first'))
        await ctx.step('second', async () => {
          if (hang) await new Promise(() => {})
          cleaned.push('second')
        })
      }
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await run.cancel()
    await env.settle()
    hang = false
    await env.restart()
    await run.result().catch(() => {})
    expect(await run.status()).toBe('cancelled')
    expect(cleaned).toEqual(['first', 'second'])
  })
})

describe('terminating', () => {
  it('ends the run at once, with no code run', async () => {
    let cleaned = false
    const w = workflow('w', async (ctx) => {
      try {
        await ctx.sleep('long', '30d')
      } finally {
        await ctx.step('clean', () => {
          cleaned = true
        })
      }
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await env.client.terminate(run.runId)
    expect(await run.status()).toBe('terminated')
    expect(cleaned).toBe(false)
    await expect(env.client.terminate(run.runId)).rejects.toThrow('already ended')
  })

  it('stops a running step from having its result counted', async () => {
    let finish = () => {}
    const w = workflow('w', async (ctx) => ctx.step('slow', () => new Promise<void>((resolve) => (finish = resolve))))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await env.client.terminate(run.runId)
    finish()
    await env.settle()
    expect((await run.history()).map(({ type }) => type)).toEqual(['run.started', 'run.terminated'])
  })
})

describe('a workflow timeout', () => {
  it('fails the run, with its clean-up run', async () => {
    const cleaned: string[] = []
    const w = workflow('w', { timeout: '2h' }, async (ctx) => {
      try {
        await ctx.sleep('long', '30d')
      } catch (error) {
        await ctx.step('clean', () => void cleaned.push((error as Error).name))
        throw error
      }
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    const start = env.clock.now()
    await expect(run.result()).rejects.toMatchObject({ cause: expect.any(TimeoutError) })
    expect(env.clock.now() - start).toBe(7_200_000)
    expect(cleaned).toEqual(['TimeoutError'])
    expect(await run.status()).toBe('failed')
  })

  it('aborts a step that hangs', async () => {
    const w = workflow('w', { timeout: '2h' }, async (ctx) =>
      ctx.step(
        'hang',
        ({ signal }) => new Promise<never>((_, no) => signal.addEventListener('abort', () => no(signal.reason))),
      ),
    )
    const env = await testEnv({ workflows: [w] })
    await expect((await env.start(w, undefined)).result()).rejects.toMatchObject({ cause: expect.any(TimeoutError) })
  })
})

describe('compensation', () => {
  const saga = (undone: string[], ending: 'fail' | 'wait' | 'fine') =>
    workflow('saga', async (ctx) => {
      for (const name of ['flight', 'hotel', 'car']) {
        await ctx.step(`book ${name}`, () => name)
        ctx.compensate(`cancel ${name}`, ({ attempt }) => {
          if (name === 'hotel' && attempt < 3) throw new Error('desk closed')
          undone.push(name)
        })
      }
      if (ending === 'fail')
        await ctx.step('pay', () => {
          throw new FatalError('no money')
        })
      if (ending === 'wait') await ctx.sleep('hold', '1d')
      return 'booked'
    })

  it('runs in reverse on failure, each with its own retries, and the error stays the first one', async () => {
    const undone: string[] = []
    const w = saga(undone, 'fail')
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('no money')
    expect(undone).toEqual(['car', 'hotel', 'flight'])
    await expect(env.client.retry(run.runId)).rejects.toThrow('has undone its steps')
  })

  it('runs on cancel, and across a crash', async () => {
    const undone: string[] = []
    const w = saga(undone, 'wait')
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await env.restart()
    await run.cancel()
    await run.result().catch(() => {})
    expect(await run.status()).toBe('cancelled')
    expect(undone).toEqual(['car', 'hotel', 'flight'])
  })

  it('does not run when all goes well', async () => {
    const undone: string[] = []
    const w = saga(undone, 'fine')
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe('booked')
    expect(undone).toEqual([])
  })

  it('goes on with the others when one compensation fails', async () => {
    const undone: string[] = []
    const w = workflow('w', async (ctx) => {
      ctx.compensate('a', () => void undone.push('a'))
      ctx.compensate('b', () => {
        throw new FatalError('cannot')
      })
      throw new Error('boom')
    })
    const env = await testEnv({ workflows: [w] })
    await expect((await env.start(w, undefined)).result()).rejects.toThrow('boom')
    expect(undone).toEqual(['a'])
    expect(env.logs.some(({ message }) => message.includes("compensation 'b' failed"))).toBe(true)
  })
})

describe('asked to stop', () => {
  const until = async (env: TestEnv, condition: () => boolean) => {
    while (!condition()) await env.settle()
  }

  it('while it compensates, a run finishes its undos', async () => {
    const ran: string[] = []
    const w = workflow('w', async (ctx) => {
      await ctx.step('book', () => void ran.push('booked'))
      const undo = ({ attempt }: { attempt: number }) => {
        if (attempt === 1) throw new Error('busy')
        ran.push('unbooked')
      }
      ctx.compensate('unbook', undo, { retry: { attempts: 10, initial: '1h' } })
      throw new FatalError('no money')
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.get()
    await run.cancel()
    await expect(run.result()).rejects.toThrow('no money')
    expect(ran).toEqual(['booked', 'unbooked'])
  })

  it('twice, what it waits for since the first time rejects too', async () => {
    const w = workflow('w', async (ctx) => {
      const first = await ctx.sleep('work', '1d').catch((error: Error) => error.message)
      const second = await ctx.sleep('clean up', '1d').catch((error: Error) => error.message)
      return [first, second]
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.get()
    await run.cancel('once')
    await run.get()
    await run.cancel('twice')
    expect(await run.result()).toEqual(['once', 'twice'])
    expect(env.clock.now()).toBeLessThan(Date.parse('2026-01-01T12:00:00Z'))
  })

  it('a step that pauses then ends instead', async () => {
    const started: number[] = []
    const w = workflow('w', async (ctx) =>
      ctx.step('poll', async ({ signal, pause }) => {
        started.push(1)
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        return pause('later', '1h')
      }),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await until(env, () => started.length === 1)
    await run.cancel('enough')
    await expect(run.result()).rejects.toThrow('enough')
    expect(await run.status()).toBe('cancelled')
  })

  it('after a crash in its first step, a run cleans up: it had begun', async () => {
    const ran: string[] = []
    let hangs = true
    const w = workflow('w', async (ctx) => {
      ctx.compensate('undo', () => void ran.push('undone'))
      await ctx.step('first', () => (hangs ? new Promise(() => {}) : 1))
      await ctx.sleep('1d')
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await run.cancel('stop')
    hangs = false
    await env.restart()
    await expect(run.result()).rejects.toThrow('stop')
    expect(ran).toEqual(['undone'])
  })

  it('by being terminated, its bodies are aborted and no other begins', async () => {
    const seen: string[] = []
    const w = workflow('w', async (ctx) => {
      await ctx.step('long', async ({ signal }) => {
        seen.push('begun')
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => {
            seen.push('aborted')
            resolve()
          }),
        )
      })
      await ctx.step('next', () => void seen.push('must not begin'))
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await until(env, () => seen.includes('begun'))
    await env.client.terminate(run.runId)
    await until(env, () => seen.includes('aborted'))
    await env.settle()
    expect(seen).toEqual(['begun', 'aborted'])
  })
})
