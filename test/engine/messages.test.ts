import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { define } from '../../sdk/definitions/index.ts'
import { type Context, signal, workflow } from '../../sdk/index.ts'
import { replayHistory, testEnv } from '../../sdk/testing/index.ts'

const [pause, resume, stop] = [signal('pause'), signal('resume'), signal('stop')]

describe('messages of different names', () => {
  const machine = workflow('machine', async (ctx) => {
    const seen: string[] = []
    for (;;) {
      const { key } = await ctx.race('next', {
        pause: (c) => c.waitFor(pause),
        resume: (c) => c.waitFor(resume),
        stop: (c) => c.waitFor(stop),
      })
      if (key === 'stop') return seen
      seen.push(key)
    }
  })

  it('reach the code in the order in which they were sent', async () => {
    const env = await testEnv({ workflows: [machine] })
    const run = await env.start(machine)
    for (const each of [pause, resume, pause, resume, pause, stop]) await run.signal(each)
    expect(await run.result()).toEqual(['pause', 'resume', 'pause', 'resume', 'pause'])
  })

  it('also where one wait was open all the time and the other is opened anew for each', async () => {
    const counting = workflow('counting', async (ctx) => {
      let count = 0
      let isStopped = false
      const stopped = ctx.waitFor(stop).then(() => {
        isStopped = true
      })
      const counted = (async () => {
        while (!isStopped) {
          await ctx.waitFor(pause)
          if (!isStopped) count++
        }
      })()
      await Promise.race([stopped, counted])
      return count
    })
    const env = await testEnv({ workflows: [counting] })
    const run = await env.start(counting)
    await run.get()
    for (const each of [pause, pause, pause, stop, pause]) await env.client.signal(run.runId, each)
    expect(await run.result()).toBe(3)
  })
})

describe('a signal that carries nothing', () => {
  const cancelled = signal('cancelled')
  const trial = workflow('trial', { signals: [cancelled] }, async (ctx) => {
    const left = await ctx.waitFor(cancelled, { timeout: '14d' })
    return [left, left !== undefined, left ? 'left' : 'charged']
  })

  it('is not a timeout', async () => {
    const env = await testEnv({ workflows: [trial] })
    const run = await env.start(trial)
    await env.advance('3d')
    await run.signal(cancelled)
    expect(await run.result()).toEqual([true, true, 'left'])
    expect(await (await env.start(trial)).result()).toEqual([undefined, false, 'charged'])
  })

  it('is not a timeout for a definition', async () => {
    const waits = define({
      name: 'waits',
      steps: [{ type: 'signal', name: 'left', signal: 'cancelled', timeoutMs: 60_000 }],
    })
    const env = await testEnv({ workflows: [waits] })
    const signalled = await env.start(waits, undefined)
    await signalled.signal(cancelled)
    const timedOut = await env.start(waits, undefined)
    expect([await signalled.result(), await timedOut.result()]).toMatchObject([
      { outputs: { left: true } },
      { outputs: {} },
    ])
  })

  it('replays as `undefined` from a journal that was recorded so', async () => {
    let seen: unknown = 'nothing yet'
    const looking = workflow('looking', async (ctx: Context) => {
      seen = await ctx.waitFor(cancelled, { timeout: '14d' })
      await ctx.step('go on', () => 1)
    })
    const events = [
      { type: 'run.started', workflow: 'looking', version: 1, at: 0, n: '0.0' },
      {
        type: 'wait.started',
        id: 'cancelled',
        signal: 'cancelled',
        until: 1_209_600_000,
        ms: 1_209_600_000,
        at: 0,
        n: '1.0',
      },
      { type: 'wait.completed', id: 'cancelled', from: 'm1', at: 5, n: '2.0' },
    ] as const
    expect(await replayHistory(looking, events)).toEqual([{ id: 'go on', kind: 'step' }])
    expect(seen).toBeUndefined()
  })

  it('that was taken before a failure is taken again after a retry, although its schema would refuse `true`', async () => {
    const note = signal('note', z.string().optional())
    let isBroken = true
    const noting = workflow('noting', async (ctx) => {
      const look = async () => {
        if (isBroken) throw new Error('broken')
        return 'looked'
      }
      return Promise.all([
        ctx.step('look', look, { retry: { attempts: 1 } }).catch(async (error) => {
          await ctx.waitFor(note)
          throw error
        }),
      ]).then(async () => ctx.waitFor(note))
    })
    const env = await testEnv({ workflows: [noting] })
    const run = await env.start(noting)
    await run.signal(note)
    await expect(run.result()).rejects.toThrow('broken')
    isBroken = false
    await env.client.retry(run.runId)
    expect(await run.result()).toBe(true)
  })
})
