import { describe, expect, it } from 'vitest'
import { asError, recordError, reviveError } from '../../sdk/base/error-records.ts'
import {
  CancelledError,
  ChildRunError,
  FatalError,
  InvalidInputError,
  mismatch,
  RetryableError,
  RunFailedError,
  StepError,
} from '../../sdk/base/errors.ts'
import type { ErrorRecord } from '../../sdk/base/events.ts'

/** Through the journal and back. */
const again = (error: unknown): Error => reviveError(JSON.parse(JSON.stringify(recordError(error))))

it('an error with a field that looks like the work of a codec can be read again', () => {
  class Odd {
    '~coded' = 'x'
  }
  const error = Object.assign(new Error('no'), { '~coded': 'x', odd: new Odd(), own: { '~coded': 'x' } })
  expect(again(error)).toMatchObject({ message: 'no', odd: { '~coded': 'x' }, own: { '~coded': 'x' } })
  expect(again(Object.assign(new Error('no'), { '~coded': 'x' })).message).toBe('no')
})

describe('messages', () => {
  it('say what happened', () => {
    expect(new StepError('pay', 1, new Error('no')).message).toBe("step 'pay' failed after 1 attempt: no")
    expect(new StepError('pay', 3, new Error('no')).message).toBe("step 'pay' failed after 3 attempts: no")
    expect(new ChildRunError('kid', 'cancelled').message).toBe("child run 'kid' cancelled")
    expect(new ChildRunError('kid', 'failed', new Error('no')).message).toBe("child run 'kid' failed: no")
    expect(new RunFailedError('run', 'stuck').message).toBe("run 'run' is stuck")
    expect(new RunFailedError('run', 'failed', new Error('no')).message).toBe("run 'run' failed: no")
    expect(new InvalidInputError('bad').message).toBe('bad')
    const problems = [
      { path: '$.a', message: 'missing' },
      { path: '$.b', message: 'too long' },
    ]
    expect(new InvalidInputError('bad', problems).message).toBe('bad\n  $.a: missing\n  $.b: too long')
    expect(mismatch({ id: 'run', workflow: 'order', version: 2 }, 'x', 'y', 'z').message).toContain(
      "'order' (version 2) does not fit the history of run 'run': after z, x, but y.",
    )
  })

  it('carry their cause, or none', () => {
    const cause = new Error('no')
    for (const error of [
      new StepError('pay', 1, cause),
      new ChildRunError('kid', 'failed', cause),
      new RunFailedError('run', 'failed', cause),
    ])
      expect(error.cause).toBe(cause)
    for (const error of [new ChildRunError('kid', 'failed'), new RunFailedError('run', 'failed')])
      expect(error).not.toHaveProperty('cause')
  })
})

describe('whatever is thrown', () => {
  it('becomes an error', () => {
    const error = new TypeError('x')
    expect(asError(error)).toBe(error)
    expect(asError('text').message).toBe('text')
    const said = (what: string) =>
      `a value that is not an Error was thrown: ${what}. Throw an Error, which knows the line it comes from: throw new Error('…')`
    expect(asError(7).message).toBe(said('7'))
    expect(asError(undefined).message).toBe(said('undefined'))
    expect(asError(null).message).toBe(said('null'))
    expect(asError({ status: 503 })).toMatchObject({ message: said('{"status":503}'), status: 503 })
    expect(asError(10n).message).toBe(said('[object BigInt]'))
    expect(asError('x'.repeat(300)).message).toHaveLength(300)
    expect(asError(['x'.repeat(300)]).message).toBe(said(`["${'x'.repeat(198)}`))
  })

  it('does no harm, even if it cannot be looked at', () => {
    const hostile = new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error('mine')
        },
      },
    )
    expect(asError(hostile).message).toBe(
      "a value was thrown that cannot be looked at. Throw an Error, which knows the line it comes from: throw new Error('…')",
    )
    const error = new Error('x')
    Object.defineProperty(error, 'message', {
      get: () => {
        throw new Error('mine')
      },
    })
    expect(recordError(error)).toEqual({ name: 'Error', message: 'an error was thrown that cannot be recorded: mine' })
    Object.defineProperty(error, 'message', {
      get: () => {
        throw 'mine'
      },
    })
    expect(recordError(error).message).toBe('an error was thrown that cannot be recorded: it does not say why')
  })
})

describe('an error in the journal', () => {
  it('keeps name, message, code and what else it carries, as far as JSON can hold it', () => {
    const error = Object.assign(new Error('no'), { code: 'E42', status: 503, odd: 1n, none: undefined, run() {} })
    expect(recordError(error)).toMatchObject({ name: 'Error', message: 'no', code: 'E42', fields: { status: 503 } })
    expect(recordError(Object.assign(new Error('no'), { code: 42 }))).toMatchObject({ code: 42 })
    expect(recordError(Object.assign(new Error('no'), { code: {} }))).not.toHaveProperty('code')
    expect(recordError(new Error('no'))).not.toHaveProperty('fields')
  })

  it('keeps the stack of what users throw, and not of ours', () => {
    for (const error of [
      new Error('x'),
      new FatalError('x'),
      new RetryableError('x'),
      new TypeError('x'),
      new RangeError('x'),
    ])
      expect(recordError(error).stack).toBe(error.stack)
    expect(recordError(new CancelledError('x'))).not.toHaveProperty('stack')
    expect(recordError(new InvalidInputError('x', [{ path: '$', message: 'y' }]))).toEqual({
      name: 'InvalidInputError',
      message: 'x\n  $: y',
    })
    const odd = new Error('x')
    odd.stack = 7 as unknown as string
    expect(recordError(odd)).not.toHaveProperty('stack')
  })

  it('leaves out fields beyond eight kilobytes', () => {
    const fits = 'x'.repeat(8_190)
    expect(recordError(Object.assign(new Error('no'), { fits })).fields).toEqual({ fits })
    expect(recordError(Object.assign(new Error('no'), { large: `${fits}x`, small: 1 })).fields).toBeUndefined()
    expect(
      recordError(Object.assign(new Error('no'), { first: 'x'.repeat(5_000), second: 'x'.repeat(5_000) })).fields,
    ).toEqual({ first: 'x'.repeat(5_000) })
  })

  it('comes back as what it was', () => {
    const step = again(new StepError('pay', 3, new FatalError('no')))
    expect(step).toBeInstanceOf(StepError)
    expect(step).toMatchObject({ step: 'pay', attempts: 3, message: "step 'pay' failed after 3 attempts: no" })
    expect(step.cause).toBeInstanceOf(FatalError)
    const child = again(new ChildRunError('kid', 'cancelled'))
    expect(child).toBeInstanceOf(ChildRunError)
    expect(child).toMatchObject({ runId: 'kid', status: 'cancelled' })
    expect(again(new TypeError('x'))).toBeInstanceOf(TypeError)
    expect(again(new CancelledError('x'))).toBeInstanceOf(CancelledError)
  })

  it('comes back under its own name where its class is not known', () => {
    class CardError extends Error {
      override name = 'CardError'
    }
    const card = again(Object.assign(new CardError('declined'), { code: 'E42', bank: 'x' }))
    expect(card).toMatchObject({ name: 'CardError', message: 'declined', code: 'E42', bank: 'x' })
    expect(Object.keys(card)).toContain('bank')
    expect(Object.getOwnPropertyDescriptor(card, 'bank')).toMatchObject({ writable: true, configurable: true })
    expect(
      reviveError({
        name: 'CardError',
        message: 'x',
        step: 'pay',
        runId: 'kid',
        cause: { name: 'Error', message: 'no' },
      }).constructor,
    ).toBe(Error)
    const bare = reviveError({ name: 'Error', message: 'x' })
    expect(bare.stack).toContain('Error: x')
    for (const field of ['code', 'cause', 'name']) expect(Object.hasOwn(bare, field)).toBe(false)
    expect(reviveError({ name: '__proto__', message: 'x' }).name).toBe('__proto__')
    const { stack } = recordError(card)
    expect(again(card).stack).toBe(stack)
  })

  it('of an older journal, which says less, comes back too', () => {
    expect(reviveError({ name: 'StepError', message: 'x' })).toMatchObject({ name: 'StepError', message: 'x' })
    expect(reviveError({ name: 'StepError', message: 'x', step: 'pay' })).not.toBeInstanceOf(StepError)
    expect(
      reviveError({ name: 'StepError', message: 'x', cause: { name: 'Error', message: 'no' } }),
    ).not.toBeInstanceOf(StepError)
    expect(
      reviveError({ name: 'StepError', message: 'x', step: 'pay', cause: { name: 'Error', message: 'no' } }),
    ).toMatchObject({ attempts: 1 })
    expect(reviveError({ name: 'ChildRunError', message: 'x' })).not.toBeInstanceOf(ChildRunError)
    expect(reviveError({ name: 'ChildRunError', message: 'x', runId: 'kid' })).toMatchObject({ status: 'failed' })
  })

  it('brings along the errors of an AggregateError, up to twenty', () => {
    const errors = Array.from({ length: 25 }, (_, i) => new FatalError(`no ${i}`))
    const many = again(new AggregateError(errors, 'all failed')) as AggregateError
    expect(many).toBeInstanceOf(AggregateError)
    expect(many.message).toBe('all failed')
    expect(many.errors.map(({ message }) => message)).toEqual(errors.slice(0, 20).map(({ message }) => message))
    expect(many.errors[0]).toBeInstanceOf(FatalError)
  })

  it('brings along its causes: eight, and the one it all began with', () => {
    const chain = (length: number): Error =>
      length === 0 ? new Error('root') : new Error(`level ${length}`, { cause: chain(length - 1) })
    const messages = (error: unknown): string[] =>
      error instanceof Error ? [error.message, ...messages(error.cause)] : []
    expect(messages(again(chain(3)))).toEqual(['level 3', 'level 2', 'level 1', 'root'])
    const long = messages(again(chain(30)))
    expect(long).toHaveLength(10)
    expect(long.slice(-2)).toEqual(['level 22', 'root'])
  })

  it('may point at itself', () => {
    const error = new Error('round')
    error.cause = error
    expect(recordError(error).message).toBe('round')
  })

  it('may contain itself', () => {
    const many = new AggregateError([], 'round')
    many.errors.push(many)
    const depth = (record: ErrorRecord): number => 1 + (record.errors ? depth(record.errors[0]!) : 0)
    expect(depth(recordError(many))).toBe(9)
  })

  it('may have a cause that is no error', () => {
    expect(again(new Error('x', { cause: 'because' })).cause).toMatchObject({ message: 'because' })
    expect(again(new Error('x')).cause).toBeUndefined()
  })
})
