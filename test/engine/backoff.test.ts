import { describe, expect, it } from 'vitest'
import type { Duration } from '../../sdk/base/duration.ts'
import { FatalError, RetryableError, TimeoutError } from '../../sdk/base/errors.ts'
import type { TaskOptions } from '../../sdk/context.ts'
import { checkRetryPolicy, type RetryPolicy, retryDelay } from '../../sdk/engine/retry.ts'
import { taskPolicy } from '../../sdk/engine/task-policy.ts'

const error = new Error('no')
const delay = (policy: RetryPolicy, attempt: number, thrown: Error = error, random = 0.5) =>
  retryDelay(policy, attempt, thrown, () => random, "step 'a'")
const plain = { jitter: false } as const

describe('the wait before the next attempt', () => {
  it('doubles from a second, for two attempts after the first', () => {
    expect([1, 2, 3, 4].map((attempt) => delay(plain, attempt))).toEqual([1_000, 2_000, undefined, undefined])
  })

  it('grows by the factor that was asked for, up to the longest', () => {
    const policy: RetryPolicy = { ...plain, attempts: 9, initial: '10s', factor: 3, max: '1m' }
    expect([1, 2, 3].map((attempt) => delay(policy, attempt))).toEqual([10_000, 30_000, 60_000])
  })

  it('is at most five minutes, or the first wait where that is longer', () => {
    expect(delay({ ...plain, attempts: 99 }, 50)).toBe(300_000)
    expect(delay({ ...plain, initial: '10m' }, 2)).toBe(600_000)
  })

  it('is spread over its upper half', () => {
    expect([0, 0.5, 1].map((random) => delay({}, 1, error, random))).toEqual([500, 750, 1_000])
  })

  it('is never nothing', () => {
    expect(delay({ initial: 1 }, 1, error, 0)).toBe(1)
    expect(delay({ ...plain, initial: 1, factor: 1 }, 1)).toBe(1)
  })

  it('is what the error asks for', () => {
    expect(delay({}, 1, new RetryableError('busy', { after: '7s' }))).toBe(7_000)
    expect(delay(plain, 1, new RetryableError('busy'))).toBe(1_000)
    expect(() => delay({}, 1, new RetryableError('busy', { after: 'soon' as Duration }))).toThrow(
      "the 'after' of a RetryableError in step 'a'",
    )
    expect(delay({ attempts: 1 }, 1, new RetryableError('busy', { after: '7s' }))).toBeUndefined()
  })

  it('never comes after a fatal error, nor after one that the policy does not retry', () => {
    expect(delay({ attempts: 9 }, 1, new FatalError('no'))).toBeUndefined()
    expect(delay({ retryIf: () => false }, 1)).toBeUndefined()
    expect(delay({ ...plain, retryIf: (thrown) => thrown === error }, 1)).toBe(1_000)
  })

  it('comes after a timeout whatever the policy thinks of errors: it never saw this one', () => {
    expect(delay({ ...plain, retryIf: () => false }, 1, new TimeoutError('slow'))).toBe(1_000)
  })
})

describe('a retry policy', () => {
  it.each<[RetryPolicy, string]>([
    [{ attempts: 0 }, 'retry.attempts must be a whole number from 1, got 0'],
    [{ attempts: 1.5 }, 'retry.attempts must be a whole number from 1, got 1.5'],
    [{ factor: 0.9 }, 'retry.factor must be at least 1, got 0.9'],
    [{ factor: Number.POSITIVE_INFINITY }, 'retry.factor must be at least 1'],
    [{ factor: Number.NaN }, 'retry.factor must be at least 1'],
    [{ initial: 'soon' as Duration }, 'retry.initial'],
    [{ max: 'late' as Duration }, 'retry.max'],
  ])('%j is refused', (policy, why) => {
    expect(() => checkRetryPolicy(policy, "step 'a'")).toThrow(`step 'a': ${why}`)
  })

  it('may say as little or as much as it likes', () => {
    for (const policy of [{}, { attempts: 1, factor: 1, initial: '1s', max: '1s' } as const])
      expect(() => checkRetryPolicy(policy, 'x')).not.toThrow()
  })
})

describe('the policy of a task', () => {
  it('has every default filled in', () => {
    expect(taskPolicy({}, 'x')).toStrictEqual({ retry: {}, heartbeatMs: 300_000, maxIterations: 100 })
  })

  it('waits for a sign of life as long as for the end, unless it says otherwise', () => {
    expect(taskPolicy({ timeout: '1h' }, 'x')).toStrictEqual({
      retry: {},
      timeoutMs: 3_600_000,
      heartbeatMs: 3_600_000,
      maxIterations: 100,
    })
    expect(taskPolicy({ timeout: '1h', heartbeatTimeout: '1m', maxIterations: 1 }, 'x')).toMatchObject({
      heartbeatMs: 60_000,
      maxIterations: 1,
    })
  })

  it.each([
    [{ maxIterations: 0 }, 'maxIterations must be a whole number from 1, got 0'],
    [{ maxIterations: 1.5 }, 'maxIterations must be a whole number from 1'],
    [{ retry: { attempts: 0 } }, 'retry.attempts'],
    [{ retry: { retryIf: () => true } }, 'retryIf is a function and cannot go to a worker'],
    [{ timeout: 'late' }, "the timeout of task 'a'"],
    [{ heartbeatTimeout: 'late' }, "the heartbeatTimeout of task 'a'"],
  ])('%j is refused', (options, why) => {
    expect(() => taskPolicy(options as TaskOptions, "task 'a'")).toThrow(why)
  })
})
