import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { ConflictError, GoneError, MisfitError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const tokens: string[] = []
const Answer = z.object({ paid: z.number() })
const ask = workflow('ask', async (ctx, again: boolean): Promise<unknown> => {
  const { token, promise } = ctx.callback('pay', { timeout: '1h', schema: Answer })
  await ctx.step('hand out', () => void tokens.push(token))
  const answer = await promise.catch((error: Error) => error.name)
  if (again) return ctx.continueAsNew(false)
  await ctx.sleep('after', '1d')
  return answer
})

async function asked(again = false) {
  const env = await testEnv({ workflows: [ask] })
  const run = await env.start(ask, again)
  await run.get()
  return { env, run, token: tokens.at(-1)! }
}

describe('the result of a callback', () => {
  it('that does not fit is refused, nothing is written, and the run waits on', async () => {
    const { env, run, token } = await asked()
    const before = await run.history()
    await expect(env.client.completeCallback(token, { paid: 'much' })).rejects.toThrow(MisfitError)
    await expect(env.client.completeCallback(token, { paid: 'much' })).rejects.toMatchObject({
      problems: [{ path: '$.paid' }],
    })
    expect(await run.history()).toEqual(before)
    await env.client.completeCallback(token, { paid: 5 })
    expect(await run.result()).toEqual({ paid: 5 })
  })

  it('whose schema makes something of it that cannot be stored is refused, and the run waits on', async () => {
    class Money {
      readonly cents: number
      constructor(cents: number) {
        this.cents = cents
      }
    }
    const schema = z.object({ cents: z.number() }).transform(({ cents }) => ({ paid: cents > 0 && new Money(cents) }))
    const w = workflow('w', async (ctx) => (await ctx.callback('pay', { schema }).promise).paid === false)
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w)
    await run.get()
    const [asked] = await env.client.listCallbacks(run.runId)
    const refusal = await env.client.completeCallback(asked!.token, { cents: 5 }).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(MisfitError)
    expect((refusal as MisfitError).message).toMatch(
      /^the result fits callback 'pay', but what its schema makes of it cannot be stored; the run waits on\. .*\n {2}\$\.paid: /,
    )
    expect((await run.history()).map(({ type }) => type)).toEqual(['run.started', 'callback.created'])
    await env.client.completeCallback(asked!.token, { cents: 0 })
    expect(await run.result()).toBe(true)
  })

  it('that slips through all the same is set aside, and the next one counts', async () => {
    const { env, run, token } = await asked()
    await env.store.deliver(run.runId, {
      id: 'callback 0 pay',
      kind: 'callback',
      generation: 0,
      op: 'pay',
      result: 'nonsense',
    })
    await env.restart()
    await env.settle()
    expect((await run.history()).map(({ type }) => type)).toContain('callback.rejected')
    await env.client.completeCallback(token, { paid: 6 })
    expect(await run.result()).toEqual({ paid: 6 })
  })

  it('that comes after the timeout is refused with that reason', async () => {
    const { env, run, token } = await asked()
    await env.advance('2h')
    await expect(env.client.completeCallback(token, { paid: 5 })).rejects.toThrow(GoneError)
    await expect(env.client.completeCallback(token, { paid: 5 })).rejects.toThrow('was not completed in time')
    expect(await run.result()).toBe('TimeoutError')
    await expect(env.client.completeCallback(token, { paid: 5 })).rejects.toThrow(GoneError)
  })

  it('that comes after another is a conflict, as it was', async () => {
    const { env, run, token } = await asked()
    await env.client.completeCallback(token, { paid: 1 })
    await run.get()
    await expect(env.client.completeCallback(token, { paid: 2 })).rejects.toThrow(ConflictError)
    await env.client.completeCallback(token, { paid: 1 }, { idempotencyKey: 'again' })
  })

  it('for an earlier generation, a cancelled or an ended run is too late', async () => {
    const first = await asked(true)
    await first.env.advance('90m')
    await expect(first.env.client.completeCallback(first.token, { paid: 5 })).rejects.toThrow('has begun anew')

    const second = await asked()
    await second.env.client.terminate(second.run.runId)
    await expect(second.env.client.completeCallback(second.token, { paid: 5 })).rejects.toThrow(
      'has ended (terminated)',
    )

    const third = await asked()
    await third.env.client.cancel(third.run.runId)
    await third.run.get()
    await expect(third.env.client.completeCallback(third.token, { paid: 5 })).rejects.toThrow(GoneError)
  })
})
