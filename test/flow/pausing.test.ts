import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { timePasses } from './time-passes.ts'

const nap = workflow('nap', async (ctx) => {
  await ctx.step('before', () => 1)
  await ctx.sleep('1h')
  return ctx.step('after', () => 'woken')
})

test('while everything is paused new runs queue and sleeping ones stay due; resumed, they go at the rate that was asked for', async () => {
  const times: number[] = []
  const quick = workflow('quick', async (ctx) => ctx.step('go', () => void times.push(env.clock.now())))
  const env = await testEnv({ workflows: [nap, quick] })
  const asleep = await env.start(nap, undefined)
  expect(await asleep.status()).toBe('sleeping')
  await env.client.pause({ all: true })
  const runs = []
  for (let i = 0; i < 200; i++) runs.push(await env.start(quick, undefined))
  await env.advance('2h')
  expect(await asleep.status()).toBe('queued')
  expect((await runs[7]!.get()).queue).toMatchObject({
    limit: 'pause:all',
    place: { count: expect.any(Number) },
    paused: true,
  })
  expect(times).toEqual([])
  // A deployment changes nothing about it.
  await env.restart([nap, quick])
  await env.settle()
  expect(times).toEqual([])
  const resumedAt = env.clock.now()
  await env.client.resume({ all: true }, { perSecond: 20 })
  for (const run of [asleep, ...runs]) await run.result()
  const tookMs = times.at(-1)! - resumedAt
  expect(tookMs).toBeGreaterThan(9_000)
  expect(tookMs).toBeLessThan(11_000)
  expect(await env.client.pauses()).toEqual([])
  await (await env.start(quick, undefined)).result()
})

test('a pause of a workflow leaves the others alone, and one of a run its siblings', async () => {
  const other = workflow('other', async (ctx) => ctx.step('go', () => 'other'))
  const env = await testEnv({ workflows: [nap, other] })
  await env.client.pause({ workflow: 'nap' })
  const paused = await env.start(nap, undefined)
  expect(await (await env.start(other, undefined)).result()).toBe('other')
  expect(await paused.status()).toBe('queued')
  const one = await env.start(nap, undefined, { id: 'x' })
  await env.client.pause({ run: 'x' })
  await env.client.resume({ workflow: 'nap' })
  expect(await paused.result()).toBe('woken')
  expect(await one.status()).toBe('queued')
  await env.client.resume({ run: 'x' })
  expect(await one.result()).toBe('woken')
})

test('a step that runs when the pause comes ends, and the next one does not begin', async () => {
  const done: string[] = []
  const two = workflow('two', async (ctx) => {
    await ctx.step('first', () => timePasses(env, 60_000).then(() => void done.push('first')))
    await ctx.step('second', () => void done.push('second'))
  })
  const env = await testEnv({ workflows: [two] })
  const run = await env.start(two, undefined)
  await env.settle()
  await env.client.pause({ all: true })
  await env.advance('10m')
  expect(done).toEqual(['first'])
  expect(await run.status()).toBe('queued')
  await env.client.resume({ all: true })
  await run.result()
  expect(done).toEqual(['first', 'second'])
})

test('a paused run can be cancelled', async () => {
  const env = await testEnv({ workflows: [nap] })
  await env.client.pause({ all: true })
  const run = await env.start(nap, undefined)
  expect(await run.status()).toBe('queued')
  await run.cancel('not any more')
  expect(await run.status()).toBe('cancelled')
})

test('what is not paused cannot be resumed, and a rate has to be one', async () => {
  const env = await testEnv({ workflows: [nap] })
  await expect(env.client.resume({ all: true })).rejects.toThrow(
    'everything is not paused; `overwinter pauses` lists what is',
  )
  await env.client.pause({ all: true })
  await expect(env.client.resume({ all: true }, { perSecond: 0 })).rejects.toThrow('from 1 to 1,000 a second')
})

test('an unknown workflow cannot be paused, and the error lists the known names', async () => {
  const env = await testEnv({ workflows: [nap] })
  await expect(env.client.pause({ workflow: 'nup' })).rejects.toThrow("no workflow is named 'nup'; known: nap")
})

test.each([null, 'order', {}, { all: false }, { all: true, run: 'x' }])(
  'what does not say one thing is refused, and nothing is paused: %j',
  async (scope) => {
    const env = await testEnv({ workflows: [workflow('order', async () => 1)] })
    await expect(env.client.pause(scope as never)).rejects.toThrow(
      'say what is meant: { all: true }, { workflow } or { run }, and one of them',
    )
    await expect(env.client.resume(scope as never)).rejects.toThrow('say what is meant')
    expect(await env.client.pauses()).toEqual([])
  },
)

test('what is there and undefined does not count: a workflow is paused, and not everything', async () => {
  const env = await testEnv({ workflows: [workflow('order', async () => 1)] })
  expect(await env.client.pause({ workflow: 'order', all: undefined } as never)).toMatchObject({
    scope: { workflow: 'order' },
  })
})
