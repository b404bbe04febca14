import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type AnyWorkflow, type Context, FatalError, request, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const price = request('price', {
  payload: z.object({ item: z.string(), since: z.coerce.date().optional() }),
  reply: z.object({ cents: z.number() }),
})
const next = signal('next')

/** Answers until it is told to end. */
const shop = workflow('shop', { signals: [price, next] }, async (ctx) => {
  let asked = 0
  for (;;) {
    const { key, value } = await ctx.race('asked or closed', {
      asked: (c) => c.waitFor(price),
      closed: (c) => c.waitFor(next),
    })
    if (key === 'closed') return asked
    asked++
    if (value.payload.item === 'fish') value.refuse(new FatalError('sold out'))
    else value.reply({ cents: await ctx.step('look up', () => value.payload.item.length * 100) })
  }
})

async function openShop() {
  const env = await testEnv({ workflows: [shop] })
  return { env, run: await env.start(shop, undefined, { id: 'shop' }) }
}

describe('a request', () => {
  it('is replied to, and the asker gets what the schema makes of the reply', async () => {
    const { run } = await openShop()
    expect(await run.ask(price, { item: 'bread' })).toEqual({ cents: 500 })
    expect(await run.ask(price, { item: 'tea' })).toEqual({ cents: 300 })
    expect(await run.history()).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ type: 'request.replied', result: { cents: 300 } })]),
    )
  })

  it('waits until the run gets to it', async () => {
    const late = workflow('late', async (ctx) => {
      await ctx.sleep('2d')
      const { payload, reply } = await ctx.waitFor(price)
      reply({ cents: payload.item.length })
    })
    const env = await testEnv({ workflows: [late] })
    const run = await env.start(late)
    expect(await run.ask(price, { item: 'salt' })).toEqual({ cents: 4 })
    expect(env.now()).toEqual(new Date('2026-01-03T00:00:00Z'))
  })

  it('may be refused, and the asker gets the reason as the cause', async () => {
    const { run } = await openShop()
    await expect(run.ask(price, { item: 'fish' })).rejects.toMatchObject({
      name: 'RequestRefusedError',
      message: "run 'shop' refused request 'price': sold out",
      cause: { name: 'FatalError', message: 'sold out' },
    })
  })

  it('gets its reply although the run ends with it', async () => {
    const once = workflow('once', async (ctx) => {
      const { reply } = await ctx.waitFor(price)
      reply({ cents: 1 })
      return 'closed'
    })
    const env = await testEnv({ workflows: [once] })
    const run = await env.start(once)
    expect(await run.ask(price, { item: 'x' })).toEqual({ cents: 1 })
    expect(await run.result()).toBe('closed')
  })

  it('under one key counts once, before the reply, after it, and after the end of the run', async () => {
    const { env, run } = await openShop()
    const ask = () => run.ask(price, { item: 'bread' }, { idempotencyKey: 'k' })
    const both = Promise.all([env.client.ask('shop', price, { item: 'bread' }, { idempotencyKey: 'k' }), ask()])
    expect(await both).toEqual([{ cents: 500 }, { cents: 500 }])
    expect(await ask()).toEqual({ cents: 500 })
    await run.signal(next)
    expect(await run.result()).toBe(1)
    expect(await ask()).toEqual({ cents: 500 })
    await expect(run.ask(price, { item: 'bread' }, { idempotencyKey: 'another' })).rejects.toMatchObject({
      name: 'ConflictError',
    })
  })

  it('is kept when the process dies that took it, and when the one dies that asked', async () => {
    const { env, run } = await openShop()
    const asker = env.client.ask('shop', price, { item: 'bread' }, { idempotencyKey: 'k' }).catch(() => {})
    while (!(await env.store.inbox('shop')).messages.some(({ kind }) => kind === 'signal')) await Promise.resolve()
    await env.restart()
    await Promise.race([asker, undefined])
    expect(await run.ask(price, { item: 'tea' })).toEqual({ cents: 300 })
    expect(await run.ask(price, { item: 'bread' }, { idempotencyKey: 'k' })).toEqual({ cents: 500 })
    expect((await run.history()).filter(({ type }) => type === 'request.replied')).toHaveLength(2)
  })

  it('that does not fit is refused with what is wrong, at the sender and, where nothing is declared, in the run', async () => {
    const { env, run } = await openShop()
    await expect(run.ask(price, {} as never)).rejects.toThrow(
      /^the payload of request 'price' does not fit its schema; change what is listed here and try again\n {2}\$\.item: /,
    )
    await expect(run.ask('price', { item: 7 })).rejects.toMatchObject({
      name: 'MisfitError',
      problems: [{ path: '$.item' }],
    })
    const undeclared = workflow('undeclared', shop.body)
    await env.restart([shop, undeclared])
    const other = await env.start(undeclared, undefined, { id: 'other' })
    await expect(other.ask('price', { item: 7 })).rejects.toMatchObject({
      name: 'RequestRefusedError',
      cause: { name: 'InvalidInputError' },
    })
    await expect(other.ask('price', { item: 7 })).rejects.toThrow(
      /run 'other' refused request 'price': request 'price' does not fit its schema\n {2}\$\.item/,
    )
    expect(await run.ask(price, { item: 'bread' })).toEqual({ cents: 500 })
  })

  it('has a payload that the schema has made something of', async () => {
    const w = workflow('w', async (ctx) => {
      const { payload, reply } = await ctx.waitFor(price)
      reply({ cents: payload.since!.getUTCFullYear() })
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w)).ask(price, { item: 'x', since: '2020-05-05' as never })).toEqual({ cents: 2020 })
  })

  it('whose reply does not fit its schema fails the run where it replies', async () => {
    const wrong = workflow('wrong', async (ctx) => {
      const { reply } = await ctx.waitFor(price)
      reply({ cents: 'a lot' } as never)
    })
    const env = await testEnv({ workflows: [wrong] })
    const run = await env.start(wrong, undefined, { id: 'w' })
    await expect(run.ask(price, { item: 'x' })).rejects.toThrow(
      "run 'w' has ended (failed) without a reply to request 'price'",
    )
    expect((await run.get()).error?.message).toMatch(
      /^the reply to request 'price' does not fit its schema; change what is listed here and try again\n {2}\$\.cents: /,
    )
  })

  it('has one reply: the second is a mistake, and a reply in a step too', async () => {
    const twice = workflow('twice', async (ctx) => {
      const { reply } = await ctx.waitFor(price)
      reply({ cents: 1 })
      reply({ cents: 2 })
    })
    const inside = workflow('inside', async (ctx) => {
      const { reply } = await ctx.waitFor(price)
      await ctx.step('s', () => reply({ cents: 1 }))
    })
    const env = await testEnv({ workflows: [twice, inside] })
    const run = await env.start(twice)
    expect(await run.ask(price, { item: 'x' })).toEqual({ cents: 1 })
    expect((await run.get()).error?.message).toBe(
      "request 'price' has its reply already, and the caller has seen it. Call reply() or refuse() once for each request",
    )
    const other = await env.start(inside)
    await expect(other.ask(price, { item: 'x' })).rejects.toThrow(/without a reply/)
    expect((await other.get()).error?.message).toMatch(
      /reply\(\) of request 'price' was called inside the body of step 's'/,
    )
  })

  it('that a run takes and forgets is refused when the run begins anew', async () => {
    const forgetful = workflow('forgetful', async (ctx, round: number) => {
      await ctx.waitFor(price)
      if (round < 1) return ctx.continueAsNew(round + 1)
      await ctx.sleep('1h')
    })
    const env = await testEnv({ workflows: [forgetful] })
    const run = await env.start(forgetful, 0, { id: 'f' })
    await expect(run.ask(price, { item: 'x' })).rejects.toThrow(
      "run 'f' refused request 'price': run 'f' took request 'price' and began anew without a reply; ask again",
    )
  })

  it('gets its reply from a later generation, and keeps it while others begin', async () => {
    const turning = workflow('turning', async (ctx, round: number) => {
      if (round === 0) return ctx.continueAsNew(1)
      const { payload, reply } = await ctx.waitFor(price)
      reply({ cents: round + payload.item.length })
      return ctx.continueAsNew(round + 1)
    })
    const env = await testEnv({ workflows: [turning] })
    const run = await env.start(turning, 0)
    expect(await run.ask(price, { item: '' }, { idempotencyKey: 'first' })).toEqual({ cents: 1 })
    for (let i = 2; i < 6; i++) expect(await run.ask(price, { item: '' })).toEqual({ cents: i })
    expect(await run.ask(price, { item: '' }, { idempotencyKey: 'first' })).toEqual({ cents: 1 })
  })

  it('that was replied to before a failure keeps its first reply when the run is retried', async () => {
    let isBroken = true
    const fragile = workflow('fragile', async (ctx) => {
      const { reply } = await ctx.waitFor(price)
      const cents = await ctx.step('work', () => (isBroken ? 1 : 2))
      reply({ cents })
      await ctx.step('rest', () => {
        if (isBroken) throw new FatalError('broken')
      })
      return cents
    })
    const env = await testEnv({ workflows: [fragile] })
    const run = await env.start(fragile)
    const ask = () => run.ask(price, { item: 'x' }, { idempotencyKey: 'k' })
    expect(await ask()).toEqual({ cents: 1 })
    expect(await run.status()).toBe('failed')
    isBroken = false
    await env.client.retry(run.runId)
    expect(await run.result()).toBe(1)
    expect(await ask()).toEqual({ cents: 1 })
  })

  it('says that it takes too long, and is kept', async () => {
    const { env } = await openShop()
    const busy = workflow('busy', async (ctx) => {
      await ctx.sleep('1h')
      const { reply } = await ctx.waitFor(price)
      reply({ cents: 9 })
    })
    await env.restart([busy, shop])
    const run = await env.start(busy, undefined, { id: 'b' })
    await expect(run.ask(price, { item: 'x' }, { timeout: '10m', idempotencyKey: 'k' })).rejects.toThrow(
      "run 'b' has not replied to request 'price' in time, and may still do so. To wait on, ask again with the idempotency key 'k'",
    )
    expect(await run.ask(price, { item: 'x' }, { idempotencyKey: 'k' })).toEqual({ cents: 9 })
  })

  it('to a run that is stuck says so instead of waiting for ever', async () => {
    const { env, run } = await openShop()
    await run.ask(price, { item: 'tea' })
    await env.restart([workflow('shop', { signals: [price, next] }, async (ctx) => ctx.sleep('other', '1h'))])
    await expect(run.ask(price, { item: 'tea' })).rejects.toThrow(
      /^run 'shop' is stuck, so nobody can say when it replies to request 'price'\. The request is kept/,
    )
  })

  it('that the workflow does not declare is refused with the known ones, also where there is a signal of that name', async () => {
    const { run } = await openShop()
    const known = "run 'shop' of workflow 'shop' does not wait for requests named"
    await expect(run.ask('cost')).rejects.toThrow(`${known} 'cost'; known: price`)
    await expect(run.ask('next')).rejects.toThrow(
      "run 'shop' of workflow 'shop' takes 'next' as a signal, to which there is no reply; send it with signal. Requests: price",
    )
  })

  it('carries values of every kind, both ways', async () => {
    const echo = request<{ at: Date; ids: Set<number> }, Map<string, unknown>>('echo')
    const w = workflow('w', async (ctx) => {
      const { payload, reply } = await ctx.waitFor(echo)
      reply(
        new Map<string, unknown>([
          ['at', payload.at],
          ['ids', payload.ids],
          ['nothing', undefined],
        ]),
      )
    })
    const env = await testEnv({ workflows: [w] })
    const sent = { at: new Date(5), ids: new Set([1, 2]) }
    const replied = await (await env.start(w)).ask(echo, sent)
    expect(replied).toEqual(
      new Map<string, unknown>([
        ['at', sent.at],
        ['ids', sent.ids],
        ['nothing', undefined],
      ]),
    )
  })

  it('that the loser of a race, or an item that is not needed any more, has taken is refused, and not left hanging', async () => {
    const take = async (c: Context) => {
      await c.waitFor(price)
      await c.sleep('10d')
    }
    const raced = workflow('raced', (ctx) => ctx.race('r', { asked: take, late: (c) => c.sleep('1d') }))
    const mapped = workflow('mapped', (ctx) =>
      ctx.map('m', ['a', 'b'], (c, item) => (item === 'a' ? take(c) : c.sleep('1d')), { need: 1 }),
    )
    const env = await testEnv({ workflows: [raced, mapped] })
    for (const w of [raced, mapped] as AnyWorkflow[]) {
      const run = await env.start(w, undefined, { id: w.name })
      const asked = run.ask(price, { item: 'x' })
      await expect(asked).rejects.toThrow(
        `the part of run '${w.name}' that took request 'price' lost its race before it replied; ask again`,
      )
      expect(await run.status()).toBe('completed')
    }
  })

  it('that was replied to long ago is not held against a schema of today', async () => {
    const w = (reply: z.ZodType<{ cents: number }>) =>
      workflow('w', async (ctx) => {
        const asked = await ctx.waitFor(request('price', { reply }))
        asked.reply({ cents: 5 })
        await ctx.sleep('1d')
        return 'done'
      })
    const before = w(z.object({ cents: z.number() }))
    const env = await testEnv({ workflows: [before] })
    const run = await env.start(before)
    expect(await run.ask('price')).toEqual({ cents: 5 })
    await env.restart([w(z.object({ cents: z.number().min(100) }))])
    expect(await run.result()).toBe('done')
  })

  it('that the code takes as a plain signal is refused: the code could not reply to it', async () => {
    const w = workflow('w', async (ctx) => ctx.waitFor(next))
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined, { id: 'w' })
    await expect(run.ask('next', 5)).rejects.toThrow(
      "run 'w' refused request 'next': the run takes 'next' as a signal, to which there is no reply",
    )
    expect(await run.result()).toBe(5)
  })

  it('that takes too long says under which key it can be followed up, also where the caller gave none', async () => {
    const slow = workflow('slow', async (ctx) => {
      await ctx.sleep('1h')
      const { reply } = await ctx.waitFor(price)
      reply({ cents: 1 })
      return (await ctx.waitFor(price, { timeout: '1h' })) === undefined
    })
    const env = await testEnv({ workflows: [slow] })
    const run = await env.start(slow)
    const late = await run.ask(price, { item: 'x' }, { timeout: '1m' }).catch((error: Error) => error.message)
    const [, idempotencyKey] = /idempotency key '(.+)'$/.exec(late as string)!
    expect(await run.ask(price, { item: 'x' }, { idempotencyKey: idempotencyKey! })).toEqual({ cents: 1 })
    expect(await run.result(), 'it was asked once').toBe(true)
  })

  it('and signals are declared as what they are, once each', () => {
    const declare = (signals: unknown) => () => workflow('w', { signals: signals as never }, async () => 1)
    expect(declare(['paid'])).toThrow(
      "workflow 'w': `signals` is a list of signals and requests, as in [signal('paid')], got \"paid\"",
    )
    expect(declare([next, request('next')])).toThrow(
      "workflow 'w': two of its signals are named 'next'; give one of them another name",
    )
    expect(() => request('q', z.string() as never)).toThrow(
      "request 'q': the second argument is { payload, reply }, each a schema; give { payload: yourSchema }",
    )
  })
})
