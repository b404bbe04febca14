import { describe, expect, it } from 'vitest'
import { CancelledError, StepError, signal, workflow } from '../../sdk/index.ts'
import type { Commit } from '../../sdk/ports/commit.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { runner, START } from './runner-fixture.ts'

const types = (history: { type: string }[]) => history.map(({ type }) => type)

describe('an until', () => {
  it('gives what its check gives once that is truthy, and holds nothing in between', async () => {
    const asked: number[] = []
    const w = workflow('w', async (ctx) => {
      const { state } = await ctx.until(
        'shipped',
        ({ round }) => asked.push(env.clock.now()) > 0 && round === 4 && { state: 'shipped' },
        { every: '10m' },
      )
      return state
    })
    const env = await testEnv({ workflows: [w] })
    const begun = env.clock.now()
    const run = await env.start(w, undefined)
    expect(await run.status()).toBe('sleeping')
    expect((await run.get()).waitingFor).toEqual([{ kind: 'until', id: 'shipped', until: begun + 600_000, round: 1 }])
    expect(await run.result()).toBe('shipped')
    expect(asked.map((at) => at - begun)).toEqual([0, 600_000, 1_200_000, 1_800_000])
  })

  it('that is so at once is an ordinary step in the journal', async () => {
    const w = workflow('w', async (ctx) => ctx.until('there', () => 'yes', { every: '1m', timeout: '1h' }))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.result()).toBe('yes')
    expect(types(await run.history())).toEqual(['run.started', 'step.completed', 'run.completed'])
  })

  it('leaves two events behind, after a thousand rounds as after two', async () => {
    let rounds = 0
    const w = workflow('w', async (ctx) => ctx.until('there', () => ++rounds === 1_000, { every: '1m' }))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.result()
    expect(rounds).toBe(1_000)
    expect(types(await run.history())).toEqual(['run.started', 'step.repeating', 'step.completed', 'run.completed'])
    expect(await env.store.frames(run.runId)).toHaveLength(2)
  })

  it('writes the run and nothing else between two rounds', async () => {
    const r = await runner(workflow('w', async (ctx) => ctx.until('there', () => false, { every: '1h' })))
    await r.run()
    r.clock.moveTo(START + 3_600_000)
    const commits: Commit[] = []
    const commit = r.store.commit.bind(r.store)
    r.store.commit = (said) => {
      commits.push(said)
      return commit(said)
    }
    expect(await r.run()).toEqual({ status: 'suspended' })
    const waitingFor = [{ kind: 'until', id: 'there', until: START + 7_200_000, round: 2 }]
    expect(commits).toEqual([
      {
        runId: 'run',
        epoch: 2,
        next: { kind: 'suspend', status: 'sleeping', wakeAt: START + 7_200_000, waitingFor, seen: 0 },
      },
    ])
  })

  it('waits longer each time with a backoff, up to the most', async () => {
    const asked: number[] = []
    const w = workflow('w', async (ctx) =>
      ctx.until('there', () => asked.push(env.clock.now()) === 6, { every: '1m', backoff: { factor: 3, max: '10m' } }),
    )
    const env = await testEnv({ workflows: [w] })
    await (await env.start(w, undefined)).result()
    expect(asked.slice(1).map((at, i) => (at - asked[i]!) / 60_000)).toEqual([1, 3, 9, 10, 10])
  })

  it('takes a last look when its time is up, and then gives undefined', async () => {
    const asked: number[] = []
    const w = workflow('w', async (ctx) => {
      const found = await ctx.until('there', () => void asked.push(env.clock.now()), { every: '10m', timeout: '25m' })
      return { found: found ?? 'nothing', at: ctx.now() }
    })
    const env = await testEnv({ workflows: [w] })
    const begun = env.clock.now()
    const run = await env.start(w, undefined)
    expect(await run.result()).toEqual({ found: 'nothing', at: begun + 1_500_000 })
    expect(asked.map((at) => (at - begun) / 60_000)).toEqual([0, 10, 20, 25])
    expect((await run.history()).find(({ type }) => type === 'step.completed')).toMatchObject({ timedOut: true })
  })

  it('gives what the last look finds', async () => {
    const w = workflow('w', async (ctx) =>
      ctx.until('there', ({ round }) => round === 2 && 'just in time', { every: '1h', timeout: '1m' }),
    )
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe('just in time')
  })

  it('keeps its rhythm, its count and its deadline across crashes and messages', async () => {
    const asked: number[] = []
    const note = signal<number>('note')
    const w = workflow('w', async (ctx) => {
      const notes = ctx.scope('notes', async (c) => {
        for (;;) await c.waitFor(note)
      })
      notes.catch(() => {})
      await ctx.until('there', ({ round }) => void asked.push(round), { every: '10m', timeout: '35m' })
      return ctx.now()
    })
    const env = await testEnv({ workflows: [w] })
    const begun = env.clock.now()
    const run = await env.start(w, undefined)
    await env.advance('4m')
    await env.restart()
    await run.signal(note, 1)
    await env.advance('12m')
    await env.restart()
    await run.signal(note, 2)
    expect(asked).toEqual([1, 2])
    expect(await run.result()).toBe(begun + 2_100_000)
    expect(asked).toEqual([1, 2, 3, 4, 5])
  })

  it('forgives rounds that throw, as long as not too many do in a row, and journals none of them', async () => {
    const said = [false, 'boom', 'boom', false, 'boom', 'boom', true]
    const w = workflow('w', async (ctx) =>
      ctx.until(
        'there',
        () => {
          const next = said.shift()
          if (next === 'boom') throw new Error('boom')
          return next
        },
        { every: '1m', retry: { attempts: 3, initial: '1s', jitter: false } },
      ),
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.result()).toBe(true)
    expect(types(await run.history())).toEqual(['run.started', 'step.repeating', 'step.completed', 'run.completed'])
    expect(env.logs.filter(({ message }) => message === "a round of 'there' failed: boom")).toHaveLength(4)
  })

  it('fails with a StepError when too many rounds in a row throw', async () => {
    let rounds = 0
    const w = workflow('w', async (ctx) => {
      const check = () => {
        if (++rounds > 1) throw new Error('boom')
        return false
      }
      return ctx
        .until('there', check, { every: '1m', retry: { attempts: 2 } })
        .catch((error: unknown) => (error instanceof StepError ? error.attempts : 0))
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe(2)
    expect(rounds).toBe(3)
  })

  it('ends when the run is cancelled, between two rounds and within one', async () => {
    const w = workflow('w', async (ctx, hangs: boolean) => {
      const check = async ({ signal }: { signal: AbortSignal }) => {
        if (hangs) await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return false
      }
      return ctx
        .until('there', check, { every: '1h' })
        .catch((error: unknown) => error instanceof CancelledError && 'cancelled')
    })
    const env = await testEnv({ workflows: [w] })
    for (const hangs of [false, true]) {
      const run = await env.start(w, hangs)
      await env.settle()
      await env.client.cancel(run.runId)
      expect(await run.result()).toBe('cancelled')
    }
  })

  it('that is asked often from one runner is not mistaken for a run that gets nowhere', async () => {
    const r = await runner(
      workflow('w', async (ctx) => ctx.until('there', () => false, { every: '1s' })),
      {},
      { inlineWaitMs: 1_000 },
    )
    for (let shift = 0; shift < 5; shift++) {
      const outcome = r.run({ deadline: r.clock.now() + 20_000, mostDeaths: 2 })
      for (let tick = 0; tick < 40; tick++) {
        await new Promise((resolve) => setImmediate(resolve))
        const next = r.clock.next()
        if (next !== undefined) r.clock.moveTo(next)
      }
      expect(await outcome).toEqual({ status: 'released' })
    }
    expect(await r.store.get('run')).toMatchObject({ waitingFor: [{ kind: 'until', id: 'there' }] })
  })

  it('refuses what makes no sense before anything is written', async () => {
    const bad = (options: object) =>
      workflow('w', async (ctx) => ctx.until('there', () => true, options as { every: number }))
    for (const [options, why] of [
      [{}, "until 'there' needs { every }, the time between two rounds"],
      [{ every: 0 }, 'a duration must be positive'],
      [{ every: '1m', backoff: { factor: 0.5 } }, "until 'there': backoff.factor must be at least 1, got 0.5"],
      [{ every: '1m', retry: { attempts: 0 } }, 'retry.attempts must be a whole number from 1'],
    ] as const) {
      const w = bad(options)
      const env = await testEnv({ workflows: [w] })
      await expect((await env.start(w, undefined)).result()).rejects.toThrow(why)
    }
  })
})
