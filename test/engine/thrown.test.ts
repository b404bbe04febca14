import { describe, expect, it } from 'vitest'
import { recordError, reviveError } from '../../sdk/base/error-records.ts'
import { FatalError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const hostile = {
  get message(): string {
    throw new Error('no')
  },
}
const THROWN: [string, () => unknown][] = [
  ['an object without a prototype', () => Object.create(null)],
  ['a symbol', () => Symbol('s')],
  ['undefined', () => undefined],
  [
    'an object whose toString throws',
    () => ({
      toString: () => Promise.reject(new Error()),
      [Symbol.toPrimitive]: () => {
        throw new Error('no')
      },
    }),
  ],
  [
    'a proxy that refuses everything',
    () =>
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no')
          },
          ownKeys: () => {
            throw new Error('no')
          },
          getPrototypeOf: () => {
            throw new Error('no')
          },
        },
      ),
  ],
  [
    'an error whose message throws',
    () => Object.defineProperty(new Error('x'), 'message', Object.getOwnPropertyDescriptor(hostile, 'message')!),
  ],
  ['an error whose name is no text', () => Object.assign(new Error('x'), { name: { a: 1 } })],
  [
    'an error that is its own cause',
    () => {
      const e = new Error('round')
      e.cause = e
      return e
    },
  ],
  ['a bigint', () => 10n],
]

describe('whatever a step throws fails that step', () => {
  it.each(THROWN)('%s, at once and later', async (_what, make) => {
    const w = workflow('w', async (ctx, later: boolean) =>
      ctx
        .step(
          's',
          () => {
            if (later) return Promise.reject(make())
            throw make()
          },
          { retry: { attempts: 1 } },
        )
        .catch(() => 'caught'),
    )
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, false)).result()).toBe('caught')
    expect(await (await env.start(w, true)).result()).toBe('caught')
  })

  it.each(THROWN)('and the workflow, its run: %s', async (_what, make) => {
    const w = workflow('w', async () => {
      throw make()
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow()
    expect(await run.status()).toBe('failed')
  })
})

describe('an error survives the journal', () => {
  it('with its fields, the errors of an AggregateError, and its code', () => {
    const error = Object.assign(new AggregateError([new RangeError('a'), new Error('b')], 'both'), {
      code: 'E2',
      status: 503,
      body: { retry: true },
    })
    const revived = reviveError(recordError(error)) as typeof error
    expect(revived).toBeInstanceOf(AggregateError)
    expect(revived.errors.map((each: Error) => each.message)).toEqual(['a', 'b'])
    expect(revived.errors[0]).toBeInstanceOf(RangeError)
    expect(revived).toMatchObject({ code: 'E2', status: 503, body: { retry: true } })
  })

  it('an object that is thrown keeps its fields', () => {
    expect(reviveError(recordError({ code: 'E1', reason: 'busy' }))).toMatchObject({ reason: 'busy' })
  })

  it('with the error that a long chain of causes began with', () => {
    let error = new Error('the root')
    for (let i = 0; i < 40; i++) error = new Error(`level ${i}`, { cause: error })
    let deepest: Error = reviveError(recordError(error))
    while (deepest.cause instanceof Error) deepest = deepest.cause
    expect(deepest.message).toBe('the root')
  })

  it.each(['toString', '__proto__', 'constructor', 'hasOwnProperty'])('under the name %s', (name) => {
    const revived = reviveError({ name, message: 'm' })
    expect(revived).toBeInstanceOf(Error)
    expect(revived.name).toBe(name)
  })

  it('a field cannot take the place of anything of ours', () => {
    const revived = reviveError({ name: 'Error', message: 'm', fields: JSON.parse('{"__proto__": {"polluted": 1}}') })
    expect((revived as { polluted?: number }).polluted).toBeUndefined()
    expect(Object.getPrototypeOf(revived)).toBe(Error.prototype)
  })
})

describe('a callback', () => {
  it.each(['toString', '__proto__', 'constructor'])(
    'failed with an error named %s fails, and its run goes on',
    async (name) => {
      let token = ''
      const w = workflow('w', async (ctx) => {
        const callback = ctx.callback('ask')
        await ctx.step('hand out', () => void (token = callback.token))
        return callback.promise.catch((error: Error) => error.name)
      })
      const env = await testEnv({ workflows: [w] })
      const run = await env.start(w, undefined)
      await run.get()
      await env.client.failCallback(token, Object.assign(new Error('no'), { name }))
      expect(await run.result()).toBe(name)
    },
  )
})

describe('a FatalError', () => {
  it('is still one after the journal', () => {
    expect(reviveError(recordError(new FatalError('x')))).toBeInstanceOf(FatalError)
  })
})
