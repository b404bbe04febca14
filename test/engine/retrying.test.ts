import { describe, expect, it } from 'vitest'
import { FatalError, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

/** Something that is broken until the test repairs it. */
function fragile() {
  let isBroken = true
  return {
    use<T>(value: T): T {
      if (isBroken) throw new FatalError('down')
      return value
    },
    mend: () => {
      isBroken = false
    },
  }
}

describe('a failed run that is retried', () => {
  it('finds the signals that were accepted before it failed (I9)', async () => {
    const service = fragile()
    const approved = signal<string>('approved')
    const w = workflow('w', async (ctx) => {
      await ctx.sleep('first', '1h')
      await ctx.step('charge', () => service.use('charged'))
      return ctx.waitFor(approved)
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.get()
    expect(await run.signal(approved, 'Ada')).toEqual({ accepted: true })
    await expect(run.result()).rejects.toThrow('down')
    service.mend()
    await env.client.retry(run.runId)
    expect(await run.result()).toBe('Ada')
  })

  it('gets back a signal that was consumed on the way that is undone (I9)', async () => {
    const service = fragile()
    const approved = signal<string>('approved')
    const w = workflow('w', async (ctx) => {
      const paid = await ctx.step('pay', () => service.use('paid')).catch((error: Error) => error)
      const by = await ctx.waitFor(approved)
      if (paid instanceof Error) throw paid
      await ctx.sleep('a while', '1d')
      return `${paid}, approved by ${by}`
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.signal(approved, 'Ada')
    await expect(run.result()).rejects.toThrow('down')
    service.mend()
    await env.client.retry(run.runId)
    expect(await run.result()).toBe('paid, approved by Ada')
    const consumed = (await run.history()).filter(({ type }) => type === 'wait.completed')
    expect(consumed).toHaveLength(2)
  })

  it('a second time, in the same place, gets back what the second try had consumed (I9)', async () => {
    const answers = ['down', 'declined']
    const approved = signal<string>('approved')
    const pay = () => {
      const trouble = answers.shift()
      if (trouble) throw new FatalError(trouble)
    }
    const w = workflow('w', async (ctx) => {
      try {
        await ctx.step('pay', pay)
      } catch (error) {
        if (String(error).includes('declined')) await ctx.waitFor(approved)
        throw error
      }
      return ctx.waitFor(approved, { timeout: '1d' })
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('down')
    await env.client.retry(run.runId)
    await run.signal(approved, 'Ada')
    await expect(run.result()).rejects.toThrow('declined')
    await env.client.retry(run.runId)
    expect(await run.result()).toBe('Ada')
  })

  it('starts children anew that were cancelled with it', async () => {
    const service = fragile()
    const kid = workflow('kid', async (ctx) => {
      await ctx.sleep('nap', '1m')
      return ctx.info.runId
    })
    const w = workflow('w', async (ctx) =>
      Promise.all([
        ctx.run(kid, undefined),
        ctx.run(kid, undefined, { id: 'chosen' }),
        ctx.step('pay', () => service.use('paid')),
      ]),
    )
    const env = await testEnv({ workflows: [w, kid] })
    const run = await env.start(w, undefined, { id: 'r' })
    await expect(run.result()).rejects.toThrow('down')
    expect(await env.handle('r.kid').status()).toBe('cancelled')
    service.mend()
    await env.client.retry('r')
    expect(await run.result()).toEqual(['r.kid~r1', 'chosen~r1', 'paid'])
  })

  it('hears of a child that ended while its parent did not wait', async () => {
    const service = fragile()
    const kid = workflow('kid', async (ctx) => {
      await ctx.sleep('nap', '1m')
      return 'grown up'
    })
    const w = workflow('w', async (ctx) =>
      Promise.all([ctx.run(kid, undefined, { onParentEnd: 'abandon' }), ctx.step('pay', () => service.use('paid'))]),
    )
    const env = await testEnv({ workflows: [w, kid] })
    const run = await env.start(w, undefined, { id: 'r' })
    await expect(run.result()).rejects.toThrow('down')
    await env.advance('1h')
    expect(await env.handle('r.kid').status()).toBe('completed')
    service.mend()
    await env.client.retry('r')
    expect(await run.result()).toEqual(['grown up', 'paid'])
  })

  it('lets the child that failed go on, from its own failed step', async () => {
    const service = fragile()
    const ran: string[] = []
    const kid = workflow('kid', async (ctx) => {
      await ctx.step('wash', () => void ran.push('kid washes'))
      return ctx.step('pay', () => service.use('kid has paid'))
    })
    const w = workflow('w', async (ctx) => {
      await ctx
        .step('pay', () => {
          ran.push('pay by card')
          throw new FatalError('refused')
        })
        .catch(() => {})
      await ctx.step('mail', () => void ran.push('mail'))
      return ctx.run(kid, undefined)
    })
    const env = await testEnv({ workflows: [w, kid] })
    const run = await env.start(w, undefined, { id: 'r' })
    await expect(run.result()).rejects.toThrow('down')
    service.mend()
    await env.client.retry('r')
    expect(await run.result()).toBe('kid has paid')
    expect(ran).toEqual(['pay by card', 'mail', 'kid washes'])
    expect(await env.handle('r.kid').status()).toBe('completed')
  })

  it('says at once that it cannot when its child was ended from outside', async () => {
    const kid = workflow('kid', async (ctx) => ctx.sleep('long', '1d'))
    const w = workflow('w', async (ctx) => ctx.run(kid, undefined))
    const env = await testEnv({ workflows: [w, kid] })
    const run = await env.start(w, undefined, { id: 'r' })
    await run.get()
    await env.client.terminate('r.kid')
    await expect(run.result()).rejects.toThrow('terminated')
    await expect(env.client.retry('r')).rejects.toThrow("child run 'r.kid', which was terminated and cannot go on")
    expect(await run.status()).toBe('failed')
  })

  it.each([
    ['several failures at once (Promise.any)', (a: Promise<string>, b: Promise<string>) => Promise.any([a, b])],
    [
      'an error of its own with a cause',
      (a: Promise<string>) => a.catch((cause: unknown) => Promise.reject(new Error('no shop', { cause }))),
    ],
    [
      'an error of its own that says nothing of the cause',
      (a: Promise<string>) => a.catch(() => Promise.reject(new Error('no shop'))),
    ],
  ])('goes on from what failed: %s', async (_what, combine) => {
    const service = fragile()
    const w = workflow('w', async (ctx) => {
      await ctx.step('before', () => 1)
      const ask = (name: string) => ctx.step(name, () => service.use(`${name} answers`))
      return combine(ask('a'), ask('b'))
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow()
    service.mend()
    await env.client.retry(run.runId)
    expect(await run.result()).toMatch(/answers/)
  })

  it('goes on more than once', async () => {
    const services = [fragile(), fragile(), fragile()]
    const w = workflow('w', async (ctx) => {
      const results: number[] = []
      for (const [i, service] of services.entries()) results.push(await ctx.step(`step ${i}`, () => service.use(i)))
      return results
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    for (const service of services) {
      await expect(run.result()).rejects.toThrow('down')
      service.mend()
      await env.client.retry(run.runId)
    }
    expect(await run.result()).toEqual([0, 1, 2])
  })
})

describe('retrying goes no further back than the failure', () => {
  it('a bug behind a failure that was dealt with undoes only the end: nothing is paid twice', async () => {
    const did: string[] = []
    let isBuggy = true
    const w = workflow('w', async (ctx) => {
      await ctx
        .step('card', () => {
          did.push('card')
          throw new FatalError('refused')
        })
        .catch(() => ctx.step('paypal', () => void did.push('paypal')))
      await ctx.step('ship', () => void did.push('ship'))
      if (isBuggy) throw new TypeError('a bug')
      return ctx.step('mail', () => void did.push('mail'))
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('a bug')
    isBuggy = false
    await env.client.retry(run.runId)
    await run.result()
    expect(did).toEqual(['card', 'paypal', 'ship', 'mail'])
  })

  it('a failure inside the stretch that an earlier retry undid can be undone too', async () => {
    const tried = { a: 0, b: 0 }
    const attempt = (name: 'a' | 'b') => () => {
      if (++tried[name] === 1) throw new FatalError(name)
      return name
    }
    const w = workflow('w', async (ctx) => Promise.all([ctx.step('a', attempt('a')), ctx.step('b', attempt('b'))]))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    for (let i = 0; i < 2; i++) {
      await run.result().catch(() => {})
      if ((await run.status()) === 'failed') await env.client.retry(run.runId)
    }
    expect(await run.result()).toEqual(['a', 'b'])
    expect(tried).toEqual({ a: 2, b: 2 })
  })

  it('what happened since the first retry still counts at the second', async () => {
    const ran: string[] = []
    const services = [fragile(), fragile()]
    const w = workflow('w', async (ctx) => {
      await ctx.step('first', () => services[0]!.use(ran.push('first')))
      await ctx.step('paid', () => void ran.push('paid'))
      return ctx.step('second', () => services[1]!.use(ran.push('second')))
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    for (const service of services) {
      await expect(run.result()).rejects.toThrow('down')
      service.mend()
      await env.client.retry(run.runId)
    }
    await run.result()
    expect(ran.filter((each) => each === 'paid')).toHaveLength(1)
  })

  it('an at-most-once step that failed is tried once more', async () => {
    const service = fragile()
    const w = workflow('w', async (ctx) => ctx.step('pay', () => service.use('paid'), { semantics: 'at-most-once' }))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('down')
    service.mend()
    await env.client.retry(run.runId)
    expect(await run.result()).toBe('paid')
  })

  it('a callback that was failed can be completed afterwards', async () => {
    let token = ''
    const w = workflow('w', async (ctx) => {
      const callback = ctx.callback('ask')
      await ctx.step('hand out', () => void (token = callback.token))
      return callback.promise
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.get()
    await env.client.failCallback(token, new Error('bank down'))
    await expect(run.result()).rejects.toThrow('bank down')
    await env.client.retry(run.runId)
    await run.get()
    await env.client.completeCallback(token, 'paid')
    expect(await run.result()).toBe('paid')
  })

  it('a child id of another run is a conflict again, and the other run is left alone', async () => {
    let ran = 0
    const other = workflow('other', async (ctx) => {
      ran++
      return ctx.step('fail', () => Promise.reject(new FatalError('its own')))
    })
    const kid = workflow('kid', async () => 1)
    const w = workflow('w', async (ctx) => ctx.run(kid, undefined, { id: 'taken' }))
    const env = await testEnv({ workflows: [other, kid, w] })
    const foreign = await env.start(other, undefined, { id: 'taken' })
    await expect(foreign.result()).rejects.toThrow('its own')
    const before = ran
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('belongs to another run')
    await env.client.retry(run.runId)
    await expect(run.result()).rejects.toThrow('belongs to another run')
    expect(ran).toBe(before)
  })

  it('a run that ran out of its time is refused, with a reason', async () => {
    const w = workflow('w', { timeout: '1h' }, async (ctx) => ctx.sleep('long', '1d'))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('took longer')
    await expect(env.client.retry(run.runId)).rejects.toThrow('going on would not give it more time')
  })

  it('a rerun of a run that was retried begins with what counts', async () => {
    const service = fragile()
    const ran: string[] = []
    const w = workflow('w', async (ctx) => {
      await ctx.step('a', () => void ran.push('a'))
      await ctx.step('b', () => service.use(ran.push('b')))
      return ctx.step('c', () => void ran.push('c'))
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('down')
    service.mend()
    await env.client.retry(run.runId)
    await run.result()
    const { runId } = await env.client.rerun(run.runId, { from: 'c' })
    await env.handle(runId).result()
    expect(ran).toEqual(['a', 'b', 'b', 'c', 'c'])
  })
})

describe('a child', () => {
  it('is not started again by a runner that takes over, once it was started for certain', async () => {
    const mails: number[] = []
    const mail = workflow('mail', { retention: '1h' }, async (ctx, n: number) =>
      ctx.step('send', () => void mails.push(n)),
    )
    let hangs = true
    const w = workflow('w', async (ctx) => {
      for (let month = 1; month <= 3; month++) {
        await ctx.run(mail, month, { detached: true })
        await ctx.sleep('month', '30d')
        if (month === 2) await ctx.step('slow', () => (hangs ? new Promise(() => {}) : 1))
      }
    })
    const env = await testEnv({ workflows: [w, mail] })
    const run = await env.start(w, undefined)
    await env.advance('61d')
    hangs = false
    await env.restart()
    await run.result()
    expect(mails).toEqual([1, 2, 3])
  })
})

describe('what was begun on the way that is forgotten', () => {
  it('a child that is asked for again is another run, and is heard of', async () => {
    const service = fragile()
    let told = 0
    const notify = workflow('notify', async (ctx) => ctx.step('mail', () => void told++))
    const w = workflow('w', async (ctx) => {
      try {
        return await ctx.step('pay', () => service.use('paid'))
      } catch (error) {
        await ctx.run(notify, undefined)
        throw error
      }
    })
    const env = await testEnv({ workflows: [w, notify] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow('down')
    await env.client.retry(run.runId)
    await expect(run.result()).rejects.toThrow('down')
    expect(told).toBe(2)
    service.mend()
    await env.client.retry(run.runId)
    expect(await run.result()).toBe('paid')
  })

  it('a callback that is asked for again can be completed again', async () => {
    const service = fragile()
    let token = ''
    const w = workflow('w', async (ctx) => {
      try {
        return await ctx.step('pay', () => service.use('paid'))
      } catch (error) {
        const callback = ctx.callback('ask')
        await ctx.step('hand out', () => void (token = callback.token))
        await callback.promise
        throw error
      }
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    for (let i = 0; i < 2; i++) {
      await run.get()
      await env.client.completeCallback(token, i)
      await expect(run.result()).rejects.toThrow('down')
      await env.client.retry(run.runId)
    }
    service.mend()
    await run.get()
    expect(token).not.toBe('')
  })

  it('a child whose failure was dealt with, and is the reason only later, goes on once', async () => {
    const services = { x: fragile(), s: fragile() }
    let ran = 0
    const bad = workflow('bad', async (ctx) => {
      await ctx.step('x', () => {
        ran++
        return services.x.use(1)
      })
    })
    const w = workflow('w', async (ctx) => {
      const failure = await ctx.run(bad, undefined).then(
        () => undefined,
        (error: Error) => error,
      )
      await ctx.step('s', () => services.s.use(1))
      if (failure) throw failure
      return 'done'
    })
    const env = await testEnv({ workflows: [w, bad] })
    const run = await env.start(w, undefined)
    for (const service of [services.s, services.x]) {
      await expect(run.result()).rejects.toThrow('down')
      service.mend()
      await env.client.retry(run.runId)
    }
    expect(await run.result()).toBe('done')
    expect(ran).toBe(2)
  })
})
