import { describe, expect, it } from 'vitest'
import { InvalidInputError } from '../../sdk/base/errors.ts'
import { request, signal, type WaitOptions, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const START = Date.parse('2026-01-05T09:00:00Z')
const NOON = START + 3 * 3_600_000
const approved = signal<string>('approved')

/** A run that waits for `approved`, begun at `START`. */
async function waiting(options: WaitOptions) {
  const w = workflow('w', async (ctx) => (await ctx.waitFor(approved, options as { until: Date })) ?? 'nobody')
  const env = await testEnv({ workflows: [w], startTime: START })
  return { env, run: await env.start(w, undefined) }
}

describe('a wait for a signal until a point in time', () => {
  it.each<[string, Date | number]>([
    ['a Date', new Date(NOON)],
    ['milliseconds since 1970', NOON],
  ])('given as %s ends then, with undefined', async (_what, until) => {
    const { env, run } = await waiting({ until })
    expect(await run.result()).toBe('nobody')
    expect(env.clock.now()).toBe(NOON)
  })

  it('gets the signal that comes before', async () => {
    const { env, run } = await waiting({ until: new Date(NOON) })
    await env.settle()
    await env.advance(NOON - START - 1)
    expect(await run.status()).toBe('waiting')
    await run.signal(approved, 'Ada')
    expect(await run.result()).toBe('Ada')
  })

  it('is over at that very moment', async () => {
    const { env, run } = await waiting({ until: new Date(NOON) })
    await env.settle()
    await env.advance(NOON - START)
    await run.signal(approved, 'Ada').catch(() => {})
    expect(await run.result()).toBe('nobody')
  })

  it('does not get a signal that comes after', async () => {
    const tick = signal<number>('tick')
    const w = workflow('w', async (ctx) => {
      const first = (await ctx.waitFor(tick, { until: new Date(NOON) })) ?? null
      return [first, await ctx.waitFor(tick)]
    })
    const env = await testEnv({ workflows: [w], startTime: START })
    const run = await env.start(w, undefined)
    await env.settle()
    await env.advance(NOON - START + 1)
    await run.signal(tick, 1)
    expect(await run.result()).toEqual([null, 1])
  })

  it('that has passed ends at once, and takes a signal that is there already', async () => {
    const { env, run } = await waiting({ until: new Date(START - 1) })
    expect(await run.result()).toBe('nobody')
    expect(env.clock.now()).toBe(START)

    const w = workflow('w', async (ctx) => {
      await ctx.sleep('1h')
      return (await ctx.waitFor(approved, { until: START - 1 })) ?? 'nobody'
    })
    const other = await testEnv({ workflows: [w], startTime: START })
    const signalled = await other.start(w, undefined)
    await other.settle()
    await signalled.signal(approved, 'Ada')
    expect(await signalled.result()).toBe('Ada')
  })

  it('works for a request', async () => {
    const price = request<void, number>('price')
    const w = workflow('w', async (ctx) => ((await ctx.waitFor(price, { until: NOON })) ? 'asked' : 'nobody'))
    const env = await testEnv({ workflows: [w], startTime: START })
    expect(await (await env.start(w, undefined)).result()).toBe('nobody')
    expect(env.clock.now()).toBe(NOON)
  })

  it('keeps the journaled moment in replay, and reports that the code gives another one', async () => {
    let until = NOON
    const w = workflow('w', async (ctx) => (await ctx.waitFor(approved, { until })) ?? 'nobody')
    const env = await testEnv({ workflows: [w], startTime: START })
    const run = await env.start(w, undefined)
    await env.settle()
    until = NOON + 3_600_000
    await env.restart()
    expect(await run.result()).toBe('nobody')
    expect(env.clock.now()).toBe(NOON)
    const history = await run.history()
    expect(history).toContainEqual(expect.objectContaining({ type: 'wait.started', until: NOON }))
    expect(history.filter(({ type }) => type === 'changed')).toEqual([
      expect.objectContaining({ field: 'until', journaled: NOON, now: until }),
    ])
  })

  it('journals no duration, so that a timeout in its place is reported', async () => {
    let options: WaitOptions = { until: NOON }
    const w = workflow('w', async (ctx) => (await ctx.waitFor(approved, options as { until: number })) ?? 'nobody')
    const env = await testEnv({ workflows: [w], startTime: START })
    const run = await env.start(w, undefined)
    await env.settle()
    options = { timeout: '1h' }
    await env.restart()
    expect(await run.result()).toBe('nobody')
    expect((await run.history()).filter(({ type }) => type === 'changed')).toEqual([
      expect.objectContaining({ field: 'timeout', journaled: null, now: 3_600_000 }),
    ])
  })

  it.each<[string, WaitOptions, string]>([
    ['an invalid date', { until: new Date('tomorrow') }, "the `until` of the wait for 'approved': an invalid Date"],
    ['NaN', { until: Number.NaN }, 'NaN is not a point in time'],
    ['more than a year away', { until: START + 366 * 86_400_000 }, 'more than 365 days away'],
    ['a timeout beside it', { until: NOON, timeout: '1h' }, 'give one of them'],
  ])('refuses %s before anything is written', async (_what, options, message) => {
    const errors: unknown[] = []
    const w = workflow('w', async (ctx) => {
      try {
        await ctx.waitFor(approved, options)
      } catch (error) {
        errors.push(error)
      }
    })
    const env = await testEnv({ workflows: [w], startTime: START })
    const run = await env.start(w, undefined)
    await run.result()
    expect(errors).toEqual([expect.any(InvalidInputError)])
    expect((errors[0] as Error).message).toContain(message)
    expect((await run.history()).map(({ type }) => type)).toEqual(['run.started', 'run.completed'])
  })
})
