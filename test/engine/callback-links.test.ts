import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import type { Duration } from '../../sdk/base/duration.ts'
import { deadlineOf } from '../../sdk/client/callback-journal.ts'
import { beat } from '../../sdk/engine/callback-heartbeat.ts'
import {
  type Callback,
  Client,
  ConflictError,
  type Context,
  GoneError,
  InvalidInputError,
  MisfitError,
  type RawRequest,
  Registry,
  workflow,
} from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

/** Runs code that asks one thing and hands its link out; `handed` has what it handed out, a time for each replay. */
async function asking(ask: (ctx: Context) => Callback<unknown>, options: { publicUrl?: string } = {}) {
  const handed: { url: string; token: string }[] = []
  const seen: string[] = []
  const asks = workflow('ask', async (ctx) => {
    const { url, token, promise } = ask(ctx)
    seen.push(url)
    await ctx.step('hand out', () => void handed.push({ url, token }))
    return promise
  })
  const env = await testEnv({ workflows: [asks], ...options })
  const run = await env.start(asks, undefined)
  await run.get()
  return { env, run, seen, ...handed[0]! }
}

describe('the URL of a callback', () => {
  it('is the address of the world and the token', async () => {
    const { url, token, env, run } = await asking((ctx) => ctx.callback('ok'), {
      publicUrl: 'https://api.example.com/',
    })
    expect(url).toBe(`https://api.example.com/callbacks/${token}`)
    await env.client.completeCallback(token, 1)
    expect(await run.result()).toBe(1)
  })

  it('is the path alone where the world knows no address', async () => {
    const { url, token } = await asking((ctx) => ctx.callback('ok'))
    expect(url).toBe(`/callbacks/${token}`)
  })

  it('is the same on every replay, also when the API has moved meanwhile', async () => {
    const { env, seen, token, run } = await asking((ctx) => ctx.callback('ok'), {
      publicUrl: 'https://old.example.com',
    })
    ;(env as unknown as { origin: { publicUrl: string } }).origin.publicUrl = 'https://new.example.com'
    await env.restart()
    await env.client.completeCallback(token, 1)
    await run.result()
    expect(seen.length).toBeGreaterThan(1)
    expect(new Set(seen)).toEqual(new Set([`https://old.example.com/callbacks/${token}`]))
  })

  it('cannot begin with what is no address', async () => {
    for (const publicUrl of ['api.example.com', 'https://', 'https://a b', 'https://a/?x', 'ftp://a'])
      await expect(testEnv({ workflows: [], publicUrl })).rejects.toThrow(
        'publicUrl must be the address of the HTTP API',
      )
  })
})

describe('a callback that expires', () => {
  it('takes no answer from its deadline on, also while its run has not noticed', async () => {
    const { env, run, token } = await asking((ctx) => ctx.callback('ok', { timeout: '1h' }))
    env.clock.moveTo(env.clock.now() + 3_600_000 - 1)
    expect(await env.client.callbacks.look(token)).toMatchObject({ workflow: 'ask', name: 'ok', runId: run.runId })
    // A process whose clock is there already, while the runner's is not.
    const late = Object.assign(Object.create(env.client.world), {
      clock: { now: () => env.clock.now() + 1, at: () => () => {} },
    })
    await expect(new Client(late, new Registry([])).completeCallback(token, 1)).rejects.toThrow(GoneError)
    await env.client.completeCallback(token, 2)
    expect(await run.result()).toBe(2)
  })
})

describe('the deadline of a callback', () => {
  const created = { type: 'callback.created' as const, id: 'ok', until: 10 }
  const retried = { type: 'run.retried' as const, ops: ['ok'] }

  it('is that of its last opening, and unknown while an operator has it opened anew', () => {
    expect(deadlineOf([created], 'ok')).toBe(10)
    expect(deadlineOf([created], 'other')).toBeUndefined()
    expect(deadlineOf([created, { type: 'run.retried', ops: ['other'] }], 'ok')).toBe(10)
    expect(deadlineOf([created, retried], 'ok')).toBeUndefined()
    expect(deadlineOf([created, retried, { ...created, until: 20 }], 'ok')).toBe(20)
  })
})

describe('looking at a callback', () => {
  it('says what is asked, and changes nothing', async () => {
    const schema = z.object({ approved: z.boolean() })
    const { env, run, token } = await asking((ctx) =>
      ctx.callback('ok', { schema, question: 'Shall we?', timeout: '1h' }),
    )
    const before = await run.history()
    const asked = await env.client.callbacks.look(token)
    expect(asked).toMatchObject({ workflow: 'ask', name: 'ok', isRaw: false, until: env.clock.now() + 3_600_000 })
    expect(await asked.terms()).toMatchObject({ question: 'Shall we?', schema })
    expect(await run.history()).toEqual(before)
    expect((await env.store.inbox(run.runId)).messages).toEqual([])
  })

  it('that was answered says so, also before the run has heard of it', async () => {
    const { env, run, token } = await asking((ctx) => ctx.callback('ok'))
    await env.store.deliver(run.runId, { id: 'callback 0 ok', kind: 'callback', generation: 0, op: 'ok', result: 1 })
    await expect(env.client.callbacks.look(token)).rejects.toThrow(ConflictError)
    await env.restart()
    await run.result()
    await expect(env.client.callbacks.look(token)).rejects.toThrow(ConflictError)
  })
})

describe('a raw callback', () => {
  const request: RawRequest = { headers: { 'x-signature': 'abc' }, body: '{"paid":5}' }

  it('gets a request as it came, and nothing that is none', async () => {
    const { env, run, token } = await asking((ctx) => ctx.callback('hook', { raw: true }))
    await expect(env.client.completeCallback(token, { paid: 5 })).rejects.toThrow(MisfitError)
    await env.client.completeCallback(token, request)
    expect(await run.result()).toEqual(request)
  })

  it('takes the same body again for a repeat, whatever the headers say by then', async () => {
    const { env, run, token } = await asking((ctx) => ctx.callback('hook', { raw: true }))
    const again = { ...request, headers: { 'x-signature': 'abc', date: 'later' } }
    const post = (result: RawRequest) => env.client.callbacks.settle(token, () => ({ result, isRepeat: true }))
    await post(request)
    await post(again)
    await run.result()
    await post(again)
    await expect(post({ ...request, body: '{"paid":6}' })).rejects.toThrow(ConflictError)
    expect(await run.result()).toEqual(request)
  })

  it('has no schema, and a question is a text', async () => {
    const bad = async (options: object) => {
      const { run } = await asking((ctx) => ctx.callback('hook', options))
      return run.result()
    }
    await expect(bad({ raw: true, schema: z.string() })).rejects.toThrow(/takes requests as they come/)
    await expect(bad({ question: 7 })).rejects.toThrow(/a question is a text/)
    await expect(bad({ question: 'x'.repeat(1_001) })).rejects.toThrow(/a question is a text/)
    await expect(bad({ heartbeatTimeout: 0 })).rejects.toThrow(/the heartbeat timeout of callback 'hook'/)
  })
})

describe('a callback with a heartbeat timeout', () => {
  const watched = (timeout?: Duration) =>
    asking((ctx) => ctx.callback('job', { heartbeatTimeout: '1m', ...(timeout !== undefined && { timeout }) }))

  it('fails without a sign of life, and says so', async () => {
    const { env, run, token } = await watched()
    await env.advance('59s')
    expect(await run.status()).toBe('waiting')
    await env.advance('1s')
    await expect(run.result()).rejects.toThrow("callback 'job' gave no sign of life for 60 s")
    await expect(env.client.heartbeatCallback(token)).rejects.toThrow(GoneError)
    await expect(env.client.completeCallback(token, 1)).rejects.toThrow('too late')
  })

  it('lives as long as there are signs of life, across deaths of its runner, and they are not journaled', async () => {
    const { env, run, token } = await watched()
    const before = (await run.history()).length
    for (let i = 0; i < 10; i++) {
      await env.advance('50s')
      await env.client.heartbeatCallback(token)
      if (i % 3 === 0) await env.restart()
    }
    expect((await run.history()).length).toBe(before)
    expect(await run.status()).toBe('waiting')
    await env.client.completeCallback(token, 'done')
    expect(await run.result()).toBe('done')
  })

  it('counts from the last sign of life', async () => {
    const { env, run, token } = await watched()
    await env.advance('30s')
    await env.client.heartbeatCallback(token)
    await env.advance('59s')
    expect(await run.status()).toBe('waiting')
    await env.advance('1s')
    expect(await run.status()).toBe('failed')
  })

  it('ends with its timeout all the same', async () => {
    const { env, run, token } = await watched('100s')
    await env.advance('50s')
    await env.client.heartbeatCallback(token)
    await env.advance('49s')
    await env.client.heartbeatCallback(token)
    expect(await run.status()).toBe('waiting')
    await env.advance('1s')
    expect(await run.status()).toBe('failed')
    await expect(run.result()).rejects.toThrow('was not completed in time')
  })

  it('does not wake its run with signs of life', async () => {
    const { env, run, token } = await watched()
    const { stimulus, epoch } = (await env.store.get(run.runId))!
    for (let i = 0; i < 5; i++) await env.client.heartbeatCallback(token)
    await env.settle()
    expect(await env.store.get(run.runId)).toMatchObject({ stimulus, epoch })
  })

  it('that an operator opens anew has its time again, whatever was noted before', async () => {
    const { env, run, token } = await watched()
    await env.advance('2m')
    expect(await run.status()).toBe('failed')
    await env.client.retry(run.runId)
    await env.advance('30s')
    // Has it looked at anew, in the middle of its time.
    await run.signal('nudge')
    expect(await run.status()).toBe('waiting')
    await env.client.completeCallback(token, 'late but welcome')
    expect(await run.result()).toBe('late but welcome')
  })

  it('is the only one that takes signs of life', async () => {
    const { env, token } = await asking((ctx) => ctx.callback('plain'))
    await expect(env.client.heartbeatCallback(token)).rejects.toThrow(/made without heartbeatTimeout/)
    await expect(env.client.heartbeatCallback('nonsense')).rejects.toThrow(InvalidInputError)
  })

  it('notes signs of life for one callback of one generation', async () => {
    const { env, run } = await watched()
    await beat(env.documents, { id: run.runId, generation: 1 }, 'job', { at: env.clock.now() + 60_000, ms: 60_000 })
    await beat(env.documents, { id: run.runId, generation: 0 }, 'other', { at: env.clock.now() + 60_000, ms: 60_000 })
    await env.advance('1m')
    expect(await run.status()).toBe('failed')
  })
})
