import { describe, expect, it } from 'vitest'
import { CancelledError, type Context, GoneError, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { lease, runner, START } from './runner-fixture.ts'

const paid = signal<number>('paid')
const note = signal<string>('note')

describe('a race', () => {
  const order = workflow('order', async (ctx) => {
    const { key, value } = await ctx.race('paid or late', { paid: (c) => c.waitFor(paid), late: (c) => c.sleep('1d') })
    const next = await ctx.waitFor(paid, { timeout: '3d' })
    return { key, value: value ?? 'nothing', next: next ?? 'nothing', at: ctx.now() }
  })

  it('goes to the branch that ends first, and says which it was', async () => {
    const env = await testEnv({ workflows: [order] })
    const run = await env.start(order, undefined)
    await env.advance('1h')
    await run.signal(paid, 7)
    expect(await run.result()).toMatchObject({ key: 'paid', value: 7 })
  })

  it('takes the timer of a loser back: the run sleeps until what is left', async () => {
    const env = await testEnv({ workflows: [order] })
    const run = await env.start(order, undefined)
    await env.advance('1h')
    await run.signal(paid, 7)
    const { waitingFor, wakeAt } = await run.get()
    expect(waitingFor).toMatchObject([{ kind: 'signal', id: 'paid' }])
    expect(wakeAt).toBe(env.clock.now() + 3 * 86_400_000)
  })

  it('takes the wait of a loser back: a signal that comes later is for the wait that is open then', async () => {
    const w = workflow('w', async (ctx) => {
      await ctx.race('r', { paid: (c) => c.waitFor(paid), late: (c) => c.sleep('1d') })
      await ctx.sleep('1d')
      return ctx.waitFor(paid)
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.advance('25h')
    await run.signal(paid, 8)
    await env.restart()
    expect(await run.result()).toBe(8)
  })

  it('is on record, with what it withdrew, and decided the same after every crash', async () => {
    const env = await testEnv({ workflows: [order] })
    const run = await env.start(order, undefined)
    await env.advance('25h')
    await env.restart()
    await run.signal(paid, 9)
    await env.restart()
    expect(await run.result()).toMatchObject({ key: 'late', value: 'nothing', next: 9 })
    expect((await run.history()).filter(({ type }) => type === 'decided')).toMatchObject([
      { id: 'paid or late', won: ['late'], withdrawn: ['paid or late/paid/paid'] },
    ])
  })

  it('gives the first so many with need, in the order in which they ended', async () => {
    const w = workflow('w', async (ctx) => {
      const nap = (minutes: number) => async (c: Context) => {
        await c.sleep(`${minutes}m`)
        return minutes
      }
      return ctx.race('quorum', { slow: nap(30), fast: nap(1), middle: nap(5) }, { need: 2 })
    })
    const env = await testEnv({ workflows: [w] })
    const begun = env.clock.now()
    expect(await (await env.start(w, undefined)).result()).toEqual([
      { key: 'fast', value: 1 },
      { key: 'middle', value: 5 },
    ])
    expect(env.clock.now() - begun).toBe(300_000)
  })

  it('aborts the step of a loser, and hears nothing of it any more', async () => {
    let aborted: unknown
    let letGo: (value: string) => void = () => {}
    const w = workflow('w', async (ctx) => {
      const winner = await ctx.race('r', {
        work: (c) =>
          c.step('work', ({ signal }) => {
            signal.addEventListener('abort', () => (aborted = signal.reason))
            return new Promise<string>((resolve) => (letGo = resolve))
          }),
        enough: (c) => c.waitFor(note),
      })
      await ctx.sleep('1h')
      return winner
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    await run.signal(note, 'stop')
    await env.settle()
    expect(aborted).toBeInstanceOf(CancelledError)
    letGo('too late')
    expect(await run.result()).toEqual({ key: 'enough', value: 'stop' })
    expect((await run.history()).map(({ type }) => type)).not.toContain('step.completed')
  })

  it('ignores a step that ended in the same breath as the winner', async () => {
    const w = workflow('w', async (ctx) => {
      const { key } = await ctx.race('r', { a: (c) => c.step('a', () => 1), b: (c) => c.step('b', () => 2) })
      await ctx.sleep('1h')
      return key
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.restart()
    expect(await run.result()).toBe('a')
    expect((await run.history()).filter(({ type }) => type === 'step.completed')).toHaveLength(1)
  })

  it('cancels the child of a loser, once, and leaves it to its clean-up', async () => {
    const log: string[] = []
    const child = workflow('child', async (ctx) => {
      try {
        await ctx.sleep('30d')
      } catch (error) {
        if (!(error instanceof CancelledError)) throw error
        await ctx.step('tidy', () => void log.push(error.message))
        await ctx.sleep('tidying', '2h')
        log.push('tidied')
      }
    })
    const w = workflow('w', async (ctx) => {
      await ctx.race('r', { child: (c) => c.run(child, undefined), late: (c) => c.sleep('1h') })
      await ctx.sleep('1h')
    })
    const env = await testEnv({ workflows: [w, child] })
    const run = await env.start(w, undefined, { id: 'parent' })
    await run.result()
    await env.advance('1d')
    expect(log).toEqual(["its parent run 'parent' went on without it ('r' is decided)", 'tidied'])
  })

  it('does not begin a child that is no longer wanted when the run first stops', async () => {
    const child = workflow('child', async (ctx) => ctx.sleep('1h'))
    const w = workflow('w', async (ctx) => {
      await ctx.sleep('1h')
      const { key } = await ctx.race('r', {
        child: (c) => c.run(child, undefined, { id: 'kid' }),
        told: (c) => c.waitFor(note),
      })
      return key
    })
    const env = await testEnv({ workflows: [w, child] })
    const run = await env.start(w, undefined)
    await run.signal(note, 'before')
    expect(await run.result()).toBe('told')
    await expect(env.client.get('kid')).rejects.toThrow('kid')
  })

  it('is completed by the next runner if the one that decided it died before it could notify a child', async () => {
    const child = workflow('child', async (ctx) => ctx.sleep('30d'))
    const w = workflow('w', async (ctx) => {
      await ctx.race('r', { child: (c) => c.run(child, undefined, { id: 'kid' }), late: (c) => c.sleep('1h') })
      await ctx.sleep('1d')
    })
    const { clock, store, run } = await runner(w, {}, {}, [child])
    await run()
    clock.moveTo(START + 3_600_000)
    const told: unknown[] = []
    const commit = store.commit.bind(store)
    let isKilled = false
    store.commit = async (said) => {
      if (isKilled) {
        told.push(...(said.outgoing ?? []))
        return commit(said)
      }
      isKilled = true
      const { outgoing: _, ...frameOnly } = said
      await commit({ ...frameOnly, next: { kind: 'keep' } })
      throw new Error('the process is killed behind the frame')
    }
    await expect(run()).rejects.toThrow('killed')
    clock.moveTo(START + 3_600_000 + lease.ms)
    expect(await run()).toEqual({ status: 'suspended' })
    expect(told).toMatchObject([{ kind: 'deliver', to: 'kid', message: { id: 'withdrawn', kind: 'cancel' } }])
    clock.moveTo(START + 3_600_000 + lease.ms + 60_000)
    expect(await run()).toEqual({ status: 'skipped' })
  })

  it('leaves a child alone that is to outlive its parent', async () => {
    const child = workflow('child', async (ctx) => ctx.sleep('2h'))
    const w = workflow('w', async (ctx) => {
      await ctx.race('r', {
        child: (c) => c.run(child, undefined, { id: 'kid', onParentEnd: 'abandon' }),
        late: (c) => c.sleep('1h'),
      })
    })
    const env = await testEnv({ workflows: [w, child] })
    await (await env.start(w, undefined)).result()
    await env.advance('2h')
    expect((await env.client.get('kid')).status).toBe('completed')
  })

  it('takes the task of a loser back from its worker', async () => {
    const w = workflow('w', async (ctx) => {
      const { key } = await ctx.race('r', { task: (c) => c.task('render'), late: (c) => c.sleep('1h') })
      await ctx.sleep('1h')
      return key
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.advance('61m')
    let done = 0
    env.worker('render', () => ++done)
    expect(await run.result()).toBe('late')
    expect(done).toBe(0)
  })

  it('asks no more for what a loser was asking for', async () => {
    let rounds = 0
    const w = workflow('w', async (ctx) => {
      await ctx.race('r', {
        there: (c) => c.until('there', () => void rounds++, { every: '10m' }),
        late: (c) => c.sleep('25m'),
      })
      await ctx.sleep('rest', '1d')
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.advance('1h')
    await env.restart()
    expect((await run.get()).waitingFor).toMatchObject([{ kind: 'sleep', id: 'rest' }])
    await run.result()
    expect(rounds).toBe(3)
  })

  it('refuses an answer to the callback of a loser', async () => {
    let link = ''
    const w = workflow('w', async (ctx) => {
      await ctx.race('r', {
        asked: async (c) => {
          const { token, promise } = c.callback('answer')
          link = token
          return promise
        },
        late: (c) => c.sleep('1h'),
      })
      await ctx.sleep('1d')
    })
    const env = await testEnv({ workflows: [w] })
    await env.start(w, undefined)
    await env.advance('2h')
    await expect(env.client.completeCallback(link, 1)).rejects.toThrow(GoneError)
    await expect(env.client.completeCallback(link, 1)).rejects.toThrow("went on without callback 'r/asked/answer'")
  })

  it('fails with the branch that fails first, and takes the others back', async () => {
    const w = workflow('w', async (ctx) => {
      const boom = (c: Context) => c.step('boom', () => Promise.reject(new Error('boom')), { retry: { attempts: 1 } })
      const failed = await ctx.race('r', { boom, nap: (c) => c.sleep('1d') }).catch((error: Error) => error.message)
      return { failed, at: ctx.now() }
    })
    const env = await testEnv({ workflows: [w] })
    const begun = env.clock.now()
    const run = await env.start(w, undefined)
    expect(await run.result()).toMatchObject({ failed: expect.stringContaining('boom'), at: begun })
    expect((await run.history()).find(({ type }) => type === 'decided')).toMatchObject({
      failed: 'boom',
      withdrawn: ['r/nap/sleep'],
    })
  })

  it('lets the code of a loser do nothing more, neither go on nor fail', async () => {
    const log: string[] = []
    const w = workflow('w', async (ctx) => {
      const shared = ctx.sleep('shared', '2h')
      const { key } = await ctx.race('r', {
        loser: async (c) => {
          await shared // not its own, so it goes on after the race
          await c.step('never', () => void log.push('never'))
          throw new Error('never')
        },
        inner: (c) => c.race('inner', { a: (d) => d.sleep('3h'), b: (d) => d.sleep('4h') }),
        winner: (c) => c.sleep('1h'),
      })
      await ctx.sleep('1d')
      return key
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.advance('90m')
    await env.restart()
    expect((await run.get()).waitingFor!.map(({ id }) => id)).toEqual(['shared', 'sleep'])
    expect(await run.result()).toBe('winner')
    expect(log).toEqual([])
    expect(env.logs.filter(({ level }) => level === 'warn')).toEqual([])
  })

  it('can be run in a loop: each is a race of its own', async () => {
    const w = workflow('w', async (ctx) => {
      const keys: string[] = []
      for (let i = 0; i < 3; i++)
        keys.push((await ctx.race('r', { told: (c) => c.waitFor(note), late: (c) => c.sleep('1h') })).key)
      return keys
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.advance('90m')
    await run.signal(note, 'now')
    await env.restart()
    expect(await run.result()).toEqual(['late', 'told', 'late'])
  })

  it('parks a run whose code would have another winner', async () => {
    const racing = (a: number, b: number) =>
      workflow('w', async (ctx) => {
        const branch = (ms: number) => async (c: Context) => {
          if (ms > 0) await c.sleep('nap', ms)
        }
        await ctx.race('r', { a: branch(a), b: branch(b) })
        await ctx.sleep('rest', '1h')
      })
    const env = await testEnv({ workflows: [racing(0, 5)] })
    const run = await env.start(racing(0, 5), undefined)
    await env.settle()
    await env.restart([racing(5, 0)])
    await env.advance('1h')
    expect((await run.get()).error?.message).toContain("race 'r' was won by a")
  })

  it('is run again when an operator undoes the failure that ended it', async () => {
    let mended = false
    const child = workflow('child', async (ctx) => ctx.sleep('1h'))
    const w = workflow('w', async (ctx) => {
      const work = () => {
        if (!mended) throw new Error('broken')
      }
      const { key } = await ctx.race('r', {
        child: (c) => c.run(child, undefined),
        work: async (c) => {
          await c.sleep('1m')
          await c.step('work', work, { retry: { attempts: 1 } })
          await c.sleep('1d')
        },
      })
      return key
    })
    const env = await testEnv({ workflows: [w, child] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('broken')
    mended = true
    await env.client.retry(run.runId)
    expect(await run.result()).toBe('child')
  })

  it('stops with the run, and is as clear as any other code about it', async () => {
    const env = await testEnv({ workflows: [order] })
    const run = await env.start(order, undefined)
    await env.advance('1h')
    await env.client.cancel(run.runId)
    await expect(run.result()).rejects.toThrow('cancelled')
    expect(await run.status()).toBe('cancelled')
  })

  it('refuses what makes no sense', async () => {
    for (const [branches, options, why] of [
      [{}, {}, "race 'r' has no branches"],
      [{ a: (c: Context) => c.sleep('1s') }, { need: 2 }, 'need must be a whole number from 1 to 1'],
      [{ a: 1 }, {}, "branch 'a' must be a function"],
    ] as const) {
      const w = workflow('w', async (ctx) => ctx.race('r', branches as never, options))
      const env = await testEnv({ workflows: [w] })
      await expect((await env.start(w, undefined)).result()).rejects.toThrow(why)
    }
  })
})
